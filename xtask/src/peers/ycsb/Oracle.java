import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Properties;

import site.ycsb.Client;
import site.ycsb.Utils;
import site.ycsb.generator.ZipfianGenerator;
import site.ycsb.workloads.CoreWorkload;

/**
 * Compares our vectors with what the core of the Java client computes. The numbers of the original's own
 * generators cannot be set, so that ranks are not among them.
 */
public final class Oracle {
  public static void main(String[] arguments) throws Exception {
    int checked = 0;
    for (String line : Files.readAllLines(Path.of(arguments[0]))) {
      if (line.isEmpty() || line.startsWith("#")) {
        continue;
      }
      String[] words = line.split(" ");
      String expected = words[words.length - 1];
      boolean agrees = switch (words[0]) {
        case "hash" -> Utils.hash(Long.parseLong(words[1])) == Long.parseLong(expected);
        case "name" -> name(words[1], words[2], words[3]).equals(expected);
        case "zeta" -> near(zeta(Long.parseLong(words[1])), Double.parseDouble(expected));
        case "code" -> words[1].hashCode() == Integer.parseInt(expected);
        default -> throw new IllegalArgumentException(line);
      };
      if (!agrees) {
        System.err.println("the original disagrees: " + line);
        System.exit(1);
      }
      checked++;
    }
    System.out.println(checked);
  }

  private static String name(String record, String padding, String order) throws Exception {
    Properties properties = new Properties();
    properties.setProperty(Client.RECORD_COUNT_PROPERTY, "1000");
    properties.setProperty(CoreWorkload.ZERO_PADDING_PROPERTY, padding);
    properties.setProperty(CoreWorkload.INSERT_ORDER_PROPERTY, order);
    site.ycsb.measurements.Measurements.setProperties(properties);
    CoreWorkload workload = new CoreWorkload();
    workload.init(properties);
    Method build = CoreWorkload.class.getDeclaredMethod("buildKeyName", long.class);
    build.setAccessible(true);
    return (String) build.invoke(workload, Long.parseLong(record));
  }

  private static double zeta(long items) throws Exception {
    Method sum = ZipfianGenerator.class.getDeclaredMethod("zetastatic", long.class, double.class);
    sum.setAccessible(true);
    return (double) sum.invoke(null, items, ZipfianGenerator.ZIPFIAN_CONSTANT);
  }

  private static boolean near(double one, double other) {
    return Math.abs(one / other - 1) < 1e-12;
  }
}
