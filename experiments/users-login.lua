-- Guide 4's workload: every request is a login of the same user, who was registered before.
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
wrk.body = '{"username": "manuandru", "password": "12341234"}'
