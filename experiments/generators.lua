-- The same requests for every generator that runs wrk's scripts.
wrk.headers["Accept"] = "text/plain"
