import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.Vector;

import redis.clients.jedis.Jedis;
import site.ycsb.ByteIterator;
import site.ycsb.DB;
import site.ycsb.DBException;
import site.ycsb.Status;
import site.ycsb.StringByteIterator;

/**
 * A binding of Redis for the Java client of YCSB, with the commands of the original's, which no registry has: a record
 * is a hash, and the sorted set `_indices` has its key. Each thread has a connection.
 */
public final class RedisBinding extends DB {
  private static final String INDEX = "_indices";

  private Jedis redis;

  @Override
  public void init() throws DBException {
    String host = getProperties().getProperty("redis.host", "127.0.0.1");
    int port = Integer.parseInt(getProperties().getProperty("redis.port", "6379"));
    redis = new Jedis(host, port);
    redis.connect();
  }

  @Override
  public void cleanup() throws DBException {
    redis.close();
  }

  @Override
  public Status read(String table, String key, Set<String> fields, Map<String, ByteIterator> result) {
    if (fields == null) {
      StringByteIterator.putAllAsByteIterators(result, redis.hgetAll(key));
    } else {
      String[] names = fields.toArray(new String[0]);
      List<String> values = redis.hmget(key, names);
      for (int at = 0; at < names.length; at++) {
        if (values.get(at) != null) {
          result.put(names[at], new StringByteIterator(values.get(at)));
        }
      }
    }
    return result.isEmpty() ? Status.ERROR : Status.OK;
  }

  @Override
  public Status insert(String table, String key, Map<String, ByteIterator> values) {
    Status status = update(table, key, values);
    redis.zadd(INDEX, key.hashCode(), key);
    return status;
  }

  @Override
  public Status update(String table, String key, Map<String, ByteIterator> values) {
    String answer = redis.hmset(key, StringByteIterator.getStringMap(values));
    return answer.equals("OK") ? Status.OK : Status.ERROR;
  }

  @Override
  public Status delete(String table, String key) {
    return redis.del(key) == 0 && redis.zrem(INDEX, key) == 0 ? Status.ERROR : Status.OK;
  }

  @Override
  public Status scan(String table, String start, int count, Set<String> fields,
      Vector<HashMap<String, ByteIterator>> result) {
    double from = start.hashCode();
    for (String key : redis.zrangeByScore(INDEX, from, Double.POSITIVE_INFINITY, 0, count)) {
      HashMap<String, ByteIterator> values = new HashMap<>();
      read(table, key, fields, values);
      result.add(values);
    }
    return Status.OK;
  }
}
