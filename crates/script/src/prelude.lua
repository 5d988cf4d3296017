-- The environment of a script: `wrk`, the module `socket`, randomness from the run's seed, and a
-- standard output that is reserved for the host where the host prints its result there.
--
-- Gets functions and values of the host; returns the functions that the host calls.

local host = ...
local buffer = require("string.buffer")
local error, format, ipairs, length, next, pairs, pcall, rawset, tonumber, tostring, type =
   error, string.format, ipairs, string.len, next, pairs, pcall, rawset, tonumber, tostring, type
local getmetatable, newproxy = getmetatable, newproxy

-- Randomness. Scripts that seed themselves from the clock would never repeat.

math.randomseed(host.seed)
if host.is_seed_final then math.randomseed = function() end end

-- The end of the process is the host's: a script that ended it would decide its exit code, and lose the
-- result.

os.exit = function()
   error("`os.exit` would end the load without its result; call `wrk.thread:stop()`, or `error`", 2)
end

-- Output. If the host prints its result to standard output, only the host writes there.

local stdout = io.stdout

if host.keeps_output then
   io.output(io.stderr)
   print = function(...)
      local words = {}
      for i = 1, select("#", ...) do words[i] = tostring((select(i, ...))) end
      io.stderr:write(table.concat(words, "\t"), "\n")
   end
else
   -- The host's output has its own buffer; lines must not overtake each other.
   stdout:setvbuf("line")
end

-- Does nothing if the script has closed standard output.
local function flush() pcall(stdout.flush, stdout) end

-- Modules. The distributions' own LuaJIT, with which wrk is built, also looks where the modules of
-- their packages are. If the user's LUA_PATH or LUA_CPATH leaves out the usual places, so do we.

local function after(path, item, more)
   local whole = ";" .. path .. ";"
   local begins, ends = whole:find(";" .. item .. ";", 1, true)
   if not begins then return path end
   return (whole:sub(1, ends) .. more .. whole:sub(ends)):sub(2, -2)
end

package.path = after(package.path, "/usr/local/share/lua/5.1/?/init.lua",
   "/usr/share/lua/5.1/?.lua;/usr/share/lua/5.1/?/init.lua")
package.cpath = after(package.cpath, "/usr/local/lib/lua/5.1/?.so",
   "/usr/lib/" .. host.architecture .. "-linux-gnu/lua/5.1/?.so"
   .. ";/usr/lib64/lua/5.1/?.so;/usr/lib/lua/5.1/?.so")
package.path = package.path .. ";" .. host.folder .. "/?.lua"

-- The module `socket`: two of LuaSocket's many fields are built in.

local luasocket, no_luasocket

local function load_luasocket()
   no_luasocket = "LuaSocket is not installed where `package.path` and `package.cpath` look"
   local ours = package.loaded.socket
   for i = 2, #package.loaders do
      local load = package.loaders[i]("socket")
      if type(load) == "function" then
         local loaded, module = pcall(load, "socket")
         package.loaded.socket = ours
         if loaded and type(module) == "table" then
            luasocket = module
         else
            no_luasocket = "LuaSocket does not load: " .. tostring(module)
         end
         return
      end
   end
end

package.preload.socket = function()
   return setmetatable({ gettime = host.gettime, sleep = host.sleep }, {
      __index = function(self, name)
         if not (luasocket or no_luasocket) then load_luasocket() end
         if not luasocket then
            local what = "`socket.%s` is not built in, only `socket.gettime` and `socket.sleep` "
               .. "are, and %s"
            error(format(what, tostring(name), no_luasocket), 2)
         end
         local value = luasocket[name]
         rawset(self, name, value)
         return value
      end,
   })
end

-- Addresses and threads: opaque values for scripts, which only the host can use.

local places = setmetatable({}, { __mode = "k" })
local links = setmetatable({}, { __mode = "k" })

local function address(place)
   local proxy = newproxy(true)
   local text = place:gsub("^%[(.*)%]:", "%1:"):gsub("^unix:", "")
   getmetatable(proxy).__tostring = function() return text end
   places[proxy] = place
   return proxy
end

local function place_of(addr)
   local place = places[addr]
   if not place then
      local what = "an address of `wrk.lookup` is expected, not a %s"
      error(format(what, type(addr)), 3)
   end
   return place
end

-- Transfer between threads. Functions and the like stay in their thread; other values are copied.

local deepest, most_values = 100, 10000000
local is_plain = { ["nil"] = true, boolean = true, number = true, string = true }

-- Returns why a value cannot be transferred; nil if it can. Tables in `above` contain this one.
local function obstacle(value, above, depth, count)
   local kind = type(value)
   count.values = count.values + 1
   if most_values < count.values then return "cannot transfer so many values to thread" end
   if is_plain[kind] then return end
   if kind ~= "table" then return format("cannot transfer '%s' to thread", kind) end
   if above[value] then return "cannot transfer a table that contains itself to thread" end
   if depth == deepest then
      return format("cannot transfer tables nested deeper than %d to thread", deepest)
   end
   above[value] = true
   for key, item in next, value do
      local what = obstacle(key, above, depth + 1, count) or obstacle(item, above, depth + 1, count)
      if what then return what end
   end
   above[value] = nil
end

-- Returns the value as bytes that `decode` accepts in any thread; otherwise nil and the reason.
local function encode(value)
   local what = obstacle(value, {}, 0, { values = 0 })
   if what then return nil, what end
   return buffer.encode(value)
end

local decode = buffer.decode

local function export(name) return encode(_G[name]) end

local function import(name, bytes) _G[name] = decode(bytes) end

-- A thread as scripts see it. `link` is the host's; without `get` and `set` the thread is this very
-- VM.
local function new_thread(link)
   local get, set = link.get or export, link.set or import
   local methods = {}

   function methods.get(_, name)
      local bytes, what = get(name)
      if not bytes then error(what, 2) end
      return decode(bytes)
   end

   function methods.set(_, name, value)
      local bytes, what = encode(value)
      if not bytes then error(what, 2) end
      set(name, bytes)
   end

   function methods.stop() link.stop() end

   local proxy = newproxy(true)
   local meta = getmetatable(proxy)

   function meta.__index(_, name)
      if name ~= "addr" then return methods[name] end
      local place = link.address()
      return place and address(place)
   end

   function meta.__newindex(_, name, value)
      if name ~= "addr" then error(format("cannot set '%s' on thread", tostring(name)), 2) end
      link.assign(place_of(value))
   end

   links[proxy] = link
   return proxy
end

-- The table `wrk`. `wrk.connection` is not a field, so that we notice when a script reads it.

local connection, reads_connection

url = host.url
wrk = setmetatable(host.wrk, {
   __index = function(_, name)
      if name == "connection" then
         reads_connection = true
         return connection
      end
   end,
})

local is_running = false

function wrk.time_us() return host.time_us() end

function wrk.lookup(name, service)
   name, service = tostring(name), service and tostring(service) or "0"
   local found, why = host.lookup(name, service)
   if not found then error(format("unable to resolve %s:%s %s", name, service, why), 0) end
   for i, place in ipairs(found) do found[i] = address(place) end
   return found
end

local resolved, why_not_connected

function wrk.connect(addr)
   local connects, why = host.connect(place_of(addr))
   if not connects then why_not_connected = why end
   return connects
end

function wrk.resolve(name, service)
   local addrs = wrk.lookup(name, service)
   for i = #addrs, 1, -1 do
      if not wrk.connect(addrs[i]) then table.remove(addrs, i) end
   end
   resolved, wrk.addrs = addrs, addrs
end

-- An address that the script did not choose is only proposed.
function wrk.setup(thread)
   if wrk.addrs == resolved then
      links[thread].propose(place_of(wrk.addrs[1]))
   else
      thread.addr = wrk.addrs[1]
   end
   if type(setup) == "function" then setup(thread) end
end

local function set_host()
   if wrk.headers["Host"] then return end
   local name = wrk.host:find(":") and "[" .. wrk.host .. "]" or wrk.host
   wrk.headers["Host"] = wrk.port and name .. ":" .. wrk.port or name
end

function wrk.init(args)
   set_host()
   if type(init) == "function" then init(args) end
   local request = wrk.format()
   wrk.request = function() return request end
end

-- Sends a request and waits for the answer, so that a script can log in before anything is
-- measured.
function wrk.fetch(request)
   if is_running then error("`wrk.fetch` blocks: call it in `setup` and `init` only", 2) end
   local addr = wrk.thread and wrk.thread.addr or wrk.addrs and wrk.addrs[1]
   if not addr then error("`wrk.fetch` has no address yet: call it in `setup` or `init`", 2) end
   if wrk.scheme == "https" then error("`wrk.fetch` does not support TLS: log in over plain HTTP", 2) end
   local status, headers, body = host.fetch(place_of(addr), request)
   if not status then error("`wrk.fetch`: " .. headers, 2) end
   return status, headers, body
end

local text = buffer.new()
local names, values = {}, {}

-- The order of `pairs` differs between runs of LuaJIT; with sorted fields the same seed gives the
-- same bytes. An insertion sort, since `table.sort` would end the compiled code.
local function put_headers(headers)
   local count = 0
   for name, value in pairs(headers) do
      name = tostring(name)
      count = count + 1
      local at = count
      while at > 1 and name < names[at - 1] do
         names[at], values[at] = names[at - 1], values[at - 1]
         at = at - 1
      end
      names[at], values[at] = name, value
   end
   for i = 1, count do text:put(names[i], ": ", tostring(values[i]), "\r\n") end
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

-- Contexts: values that a script gets back with the answer. Several answers may share one.

local contexts, awaited, free, free_count, tags = {}, {}, {}, 0, 0

local function keep(context)
   local tag
   if 0 < free_count then
      tag, free_count = free[free_count], free_count - 1
   else
      tags = tags + 1
      tag = tags
   end
   contexts[tag], awaited[tag] = context, 1
   return tag
end

local function take(tag)
   if tag == 0 then return end
   local context = contexts[tag]
   awaited[tag] = awaited[tag] - 1
   if awaited[tag] == 0 then
      contexts[tag] = nil
      free_count = free_count + 1
      free[free_count] = tag
   end
   return context
end

-- The functions that the host calls. Callbacks are looked up each time, since scripts may replace
-- them.

local calls = {}
local told

-- Tells the host which callbacks the script has now, whenever that changes.
local function look()
   local now = (type(response) == "function" and 1 or 0) + (type(failed) == "function" and 2 or 0)
      + (type(delay) == "function" and 4 or 0) + (reads_connection and 8 or 0)
   if now ~= told then
      told = now
      host.tell(now)
   end
end

-- Returns how many addresses accept a connection, and why the last one does not.
function calls.resolve(name, service)
   wrk.resolve(name, service)
   return #wrk.addrs, why_not_connected
end

function calls.setup(link)
   set_host()
   wrk.setup(new_thread(link))
end

function calls.adopt(link) wrk.thread = new_thread(link) end

-- Returns the request of a script that has no function `request`, otherwise nil.
function calls.init(args)
   wrk.init(args)
   if type(request) ~= "function" then return (wrk.request()) end
end

-- Begins the load: from now on requests are measured.
function calls.begin()
   is_running = true
   look()
   flush()
end

-- Returns the next request, and the tag of its context if it has one that a callback uses.
function calls.next(slot)
   connection = slot
   local request, context = (type(request) == "function" and request or wrk.request)()
   look()
   if context ~= nil and (type(response) == "function" or type(failed) == "function") then
      return request, keep(context)
   end
   return request
end

-- Records that the request with this tag turned out to be several.
function calls.share(tag, answers) awaited[tag] = answers end

function calls.answer(status, headers, body, slot, tag)
   local context = take(tag)
   connection = slot
   if type(response) == "function" then
      if context == nil then
         response(status, headers, body)
      else
         response(status, headers, body, context)
      end
   end
   look()
end

function calls.fail(kind, tag)
   local context = take(tag)
   if type(failed) == "function" then failed(kind, context) end
   look()
end

-- Returns the delay in milliseconds.
function calls.delay()
   local length = type(delay) == "function" and tonumber((delay())) or 0
   look()
   return length
end

function calls.has_done() return type(done) == "function" end

function calls.done(summary, latency, requests)
   if type(done) == "function" then done(summary, latency, requests) end
   flush()
end

calls.export, calls.import, calls.forget = export, import, take

return calls
