-- Numbers the requests of one thread, so that the server can check their order and their lateness.
local number = 0

request = function()
  number = number + 1
  return wrk.format("GET", "/" .. number)
end
