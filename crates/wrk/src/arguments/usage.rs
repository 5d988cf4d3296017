//! The text of `-h`, which is also printed after any mistake.

use super::Compatibility;

const WRK: &str = "\
Usage: wrk <options> <url> [-- <script arguments>]
  Options:
    -c, --connections <N>  Connections that are kept open [10]
    -d, --duration    <T>  How long to load the target [10s]
    -t, --threads     <N>  Script threads; they share the connections [2]

    -s, --script      <S>  Lua script that makes the requests
    -H, --header      <H>  Header of each request, 'Name: value'
    -L, --latency          Print the distribution of latencies
    -T, --timeout     <T>  Count answers that take longer [2s]
";

const WRK2: &str = "\
Usage: wrk <options> <url> [-- <script arguments>]
  Options:
    -R, --rate        <N>  Requests/s of all threads together
                           [required]
    -c, --connections <N>  Connections that are kept open [10]
    -d, --duration    <T>  How long to load the target [10s]
    -t, --threads     <N>  Script threads; they share the connections [2]

    -s, --script      <S>  Lua script that makes the requests
    -H, --header      <H>  Header of each request, 'Name: value'
    -L, --latency          Print the distribution of latencies, from when
                           each request was meant to start
    -U, --u_latency        Print it also from when each was sent
    -B, --batch_latency    One latency for each pipelined batch,
                           not for each of its answers
    -T, --timeout     <T>  Count answers that take longer [2s]
";

const DSB: &str = "\
Usage: wrk <options> <url> <url>... [-- <script arguments>]
  Options, for each url:
    -R, --rate        <N>  Requests/s [required]
    -D, --dist        <S>  Gaps between them: fixed, exp, norm, zipf [fixed]
    -c, --connections <N>  Connections that are kept open [10]
    -d, --duration    <T>  How long to load the targets [10s]
    -t, --threads     <N>  Script threads; they share the connections [2]

    -s, --script      <S>  Lua script that makes the requests
    -H, --header      <H>  Header of each request, 'Name: value'
    -L, --latency          Print the distribution of latencies
    -S, --separate         Print the results of each url, too
    -r, --requests         Print how many requests were sent
    -P                     Write every latency to <thread>.txt
    -p                     Write the p99 of each tenth of a second
                           to url<u>thread0.txt
    -B, --batch_latency    One latency for each pipelined batch,
                           not for each of its answers
    -T, --timeout     <T>  Count answers that take longer [2s]
";

const COMMON: &str = "
    -v, --version          Print the version
    -h, --help             Print this

        --compatibility <S>  wrk, wrk2 or dsb [detected from the arguments]
        --json[=<F>], --csv <F>, --hlog <F>, --samples <F>, --report <F>,
        --seed <N>, --timer <S>, --io <S>, --shards <N>, --pin <S>
                           As in `benchwright load`
        --strict           Exit with 1 if a request failed or took longer
                           than -T, or the target did not keep up; with 2
                           if the command line is wrong; with 3 if the
                           generator cannot be trusted

  Numbers may have a unit (1k, 1.5M, 1G), and so may times (500ms, 2s, 2m, 2h)
";

pub(super) fn text(compatibility: Compatibility) -> String {
    let own = match compatibility {
        Compatibility::Wrk => WRK,
        Compatibility::Wrk2 => WRK2,
        Compatibility::Dsb => DSB,
    };
    own.to_owned() + COMMON
}
