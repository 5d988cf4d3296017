-- The mixed workload of guide 1 on the hotel application: of a hundred requests sixty search for a
-- hotel, thirty-nine ask for a recommendation, and one logs in or reserves a room.
--
-- The generator seeds math.random for each thread from its --seed, so a trial can be repeated request
-- by request.

local function day(number)
  return string.format("2015-04-%02d", number)
end

-- Around the row of hotels: half of the searches have an answer.
local function place()
  local lat = 38.0235 + (math.random(0, 481) - 240.5) / 1000
  local lon = -122.095 + (math.random(0, 325) - 157.0) / 1000
  return string.format("lat=%.4f&lon=%.3f", lat, lon)
end

-- One of the 501 users; the password is the user's number, ten times.
local function login()
  local number = math.random(0, 500)
  local name = "Cornell_" .. number
  return name, "username=" .. name .. "&password=" .. string.rep(tostring(number), 10)
end

local function search()
  local arrival = math.random(9, 23)
  local departure = math.random(arrival + 1, 24)
  local path = "/hotels?inDate=" .. day(arrival) .. "&outDate=" .. day(departure) .. "&" .. place()
  return wrk.format("GET", path)
end

local function recommend()
  local coin = math.random()
  local by = coin < 0.33 and "dis" or coin < 0.66 and "rate" or "price"
  return wrk.format("GET", "/recommendations?require=" .. by .. "&" .. place())
end

local function log_in()
  local _, credentials = login()
  return wrk.format("POST", "/user?" .. credentials)
end

local function reserve()
  local arrival = math.random(9, 23)
  local departure = arrival + math.random(1, 5)
  local hotel = math.random(1, 80)
  local name, credentials = login()
  return wrk.format("POST", "/reservation?inDate=" .. day(arrival) .. "&outDate=" .. day(departure)
    .. "&hotelId=" .. hotel .. "&customerName=" .. name .. "&" .. credentials .. "&number=1")
end

request = function()
  local coin = math.random()
  if coin < 0.6 then return search() end
  if coin < 0.99 then return recommend() end
  if coin < 0.995 then return log_in() end
  return reserve()
end
