// One GET after the other on each connection, as little else as k6 can do.
import http from 'k6/http';

const url = __ENV.URL;

export default function () {
  http.get(url);
}

// Requests that did not fail: the rate of failures counts those that did as its passes.
export function handleSummary(data) {
  return { stdout: JSON.stringify({ completed: data.metrics.http_req_failed.values.fails }) };
}
