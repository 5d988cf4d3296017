-- What a script finds before its first line: `wrk`, the module `socket`, chance that only the seed
-- decides, and a standard output that stays the host's.
--
-- Gets what only the host can give; returns the two functions that the host calls.

local host = ...
local buffer = require("string.buffer")
local error, format, length, pairs, rawset, tostring, type =
   error, string.format, string.len, pairs, rawset, tostring, type

-- Chance. Scripts seed themselves from the clock, and would never repeat.

math.randomseed(host.seed)
math.randomseed = function() end

-- Output. The host's own result goes to standard output, and nothing else.

io.output(io.stderr)
print = function(...)
   local words = {}
   for i = 1, select("#", ...) do words[i] = tostring((select(i, ...))) end
   io.stderr:write(table.concat(words, "\t"), "\n")
end

-- The module `socket`, without LuaSocket.

package.path = package.path .. ";" .. host.folder .. "/?.lua"
package.preload.socket = function()
   return setmetatable({ gettime = host.gettime, sleep = host.sleep }, {
      __index = function(_, name)
         local what = "`socket.%s` is not built in, only `socket.gettime` and `socket.sleep` are"
         error(format(what, tostring(name)), 2)
      end,
   })
end

-- The table `wrk`.

local later = {
   addrs = true, connect = true, lookup = true, resolve = true, setup = true, thread = true,
   time_us = true,
}

local function refuse(name)
   if later[name] then error(format("`wrk.%s` is not supported yet", name), 3) end
end

url = host.url
wrk = setmetatable(host.wrk, {
   __index = function(_, name) refuse(name) end,
   __newindex = function(self, name, value)
      refuse(name)
      rawset(self, name, value)
   end,
})

function wrk.init(args)
   if not wrk.headers["Host"] then
      local name = wrk.host:find(":") and "[" .. wrk.host .. "]" or wrk.host
      wrk.headers["Host"] = wrk.port and name .. ":" .. wrk.port or name
   end
   if type(init) == "function" then init(args) end
   local request = wrk.format()
   wrk.request = function() return request end
end

local text = buffer.new()
local names = {}

-- The order of `pairs` is another one in each run of LuaJIT; sorted, the same seed gives the same
-- bytes. An insertion sort, since `table.sort` would end the compiled code.
local function put_headers(headers)
   local count = 0
   for name in pairs(headers) do
      count = count + 1
      local at = count
      while at > 1 and name < names[at - 1] do
         names[at] = names[at - 1]
         at = at - 1
      end
      names[at] = name
   end
   for i = 1, count do text:put(names[i], ": ", tostring(headers[names[i]]), "\r\n") end
end

function wrk.format(method, path, headers, body)
   method = method or wrk.method
   path = path or wrk.path
   headers = headers or wrk.headers
   body = body or wrk.body
   if not headers["Host"] then headers["Host"] = wrk.headers["Host"] end
   headers["Content-Length"] = body and length(body)
   text:reset():put(method, " ", path, " HTTP/1.1\r\n")
   put_headers(headers)
   text:put("\r\n", body or "")
   return text:tostring()
end

-- What the host calls.

-- A script that needs one of these would run, and do something else than it says.
local function refuse_callbacks()
   for _, name in ipairs({ "setup", "response", "delay", "done" }) do
      local callback = rawget(_G, name)
      if type(callback) == "function" then
         local place = debug.getinfo(callback, "S")
         local what = "%s:%d: the callback `%s` is not supported yet"
         error(format(what, place.short_src, place.linedefined, name), 0)
      end
   end
end

-- Returns the one request of a script that has no function `request`, else nil.
local function start(args)
   refuse_callbacks()
   wrk.init(args)
   refuse_callbacks()
   if type(request) ~= "function" then return wrk.request() end
end

-- Looks `request` up each time, since a script may replace it at any time.
local function next_request()
   if type(request) == "function" then return request() end
   return wrk.request()
end

return start, next_request
