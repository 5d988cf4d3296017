-- The workload of guide 2 on the social network: every request reads ten posts of the home timeline
-- of one of the users, from one of its newest 101 places on.
--
-- The generator seeds math.random for each thread from its --seed, so a trial can be repeated request
-- by request.
local users

-- The number of users is the argument of the script.
function init(args)
  users = tonumber(args[1]) or error("give the number of users, for example 962")
end

wrk.headers["Content-Type"] = "application/x-www-form-urlencoded"

request = function()
  local user, start = math.random(0, users - 1), math.random(0, 100)
  return wrk.format("GET", "/wrk2-api/home-timeline/read?user_id=" .. user
    .. "&start=" .. start .. "&stop=" .. start + 10)
end
