#if Redis
/// The scripts of a cache, each of which the server runs as a whole.
enum RedisCacheScript {
    /// The time in milliseconds for which bodies stay that may still be read, after their entries were replaced or removed.
    static let bodyGrace: Int64 = 30_000
    /// The time in milliseconds for which invalidations are known: the longest time from a request to the storing of its response.
    static let invalidationLifetime: Int64 = 3_600_000

    /// The number of an invalidation, as Lua computes it from the name of the last number: the microseconds of the server's clock, and more
    /// than the last number. If the server has evicted that for lack of memory, the next one is larger all the same.
    private static let nextNumber = """
        local function nextNumber(name)
          local time = redis.call('TIME')
          local number = math.max(time[1] * 1000000 + time[2], tonumber(redis.call('GET', name) or 0) + 1)
          local text = string.format('%.0f', number)
          redis.call('SET', name, text)
          return text
        end

        """

    /// Makes an entry visible, unless its key has been invalidated since the request was sent, or a piece of its body is missing.
    ///
    /// - `KEYS`: the heads, the body, the last invalidation of the key, and of all keys.
    /// - `ARGV`: the number of the last invalidation before the request, the variant, the record, the time to live in milliseconds, the
    ///   number of pieces, the largest number of variants, the beginning of the names of the key's bodies, the grace of bodies.
    /// - Returns: 1, or 0 if the entry is dropped.
    static let commit = RedisScript(
        text: """
            local mark = tonumber(ARGV[1])
            local pieces = tonumber(ARGV[5])
            if tonumber(redis.call('GET', KEYS[3]) or 0) > mark or tonumber(redis.call('GET', KEYS[4]) or 0) > mark
                or (pieces > 0 and redis.call('HLEN', KEYS[2]) ~= pieces) then
              redis.call('UNLINK', KEYS[2])
              return 0
            end
            if pieces > 0 then redis.call('PEXPIRE', KEYS[2], ARGV[4]) end
            local leaving = {}
            local old = redis.call('HGET', KEYS[1], ARGV[2])
            if old then
              leaving[1] = old
            elseif redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[6]) then
              local first = redis.call('HKEYS', KEYS[1])[1]
              leaving[1] = redis.call('HGET', KEYS[1], first)
              redis.call('HDEL', KEYS[1], first)
            end
            redis.call('HSET', KEYS[1], ARGV[2], ARGV[3])
            if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[4]) then redis.call('PEXPIRE', KEYS[1], ARGV[4]) end
            for _, record in ipairs(leaving) do
              redis.call('PEXPIRE', ARGV[7] .. string.sub(record, 1, 32), ARGV[8])
            end
            return 1
            """)

    /// Replaces the head of an entry, unless the entry has been removed or replaced.
    ///
    /// - `KEYS`: the heads, the body.
    /// - `ARGV`: the variant, the entry, the new variant, the record, the time to live in milliseconds.
    /// - Returns: 1, or 0 if there is no such entry.
    static let update = RedisScript(
        text: """
            local old = redis.call('HGET', KEYS[1], ARGV[1])
            if not old or string.sub(old, 1, 32) ~= ARGV[2] then return 0 end
            if ARGV[1] ~= ARGV[3] then redis.call('HDEL', KEYS[1], ARGV[1]) end
            redis.call('HSET', KEYS[1], ARGV[3], ARGV[4])
            for _, name in ipairs(KEYS) do
              if redis.call('PTTL', name) < tonumber(ARGV[5]) then redis.call('PEXPIRE', name, ARGV[5]) end
            end
            return 1
            """)

    /// Removes an entry, unless the entry has been removed or replaced.
    ///
    /// - `KEYS`: the heads, the body.
    /// - `ARGV`: the variant, the entry, the grace of bodies.
    static let remove = RedisScript(
        text: """
            local old = redis.call('HGET', KEYS[1], ARGV[1])
            if not old or string.sub(old, 1, 32) ~= ARGV[2] then return 0 end
            redis.call('HDEL', KEYS[1], ARGV[1])
            redis.call('PEXPIRE', KEYS[2], ARGV[3])
            return 1
            """)

    /// Removes all entries of a key. The first change frees memory, so that a server that is full executes the others too.
    ///
    /// - `KEYS`: the heads, the number of the last invalidation of any key, and of the key.
    /// - `ARGV`: the beginning of the names of the key's bodies, the grace of bodies, the time for which the invalidation is known.
    static let invalidate = RedisScript(
        text: nextNumber + """
            local records = redis.call('HVALS', KEYS[1])
            redis.call('UNLINK', KEYS[1])
            for _, record in ipairs(records) do
              redis.call('PEXPIRE', ARGV[1] .. string.sub(record, 1, 32), ARGV[2])
            end
            redis.call('SET', KEYS[3], nextNumber(KEYS[2]), 'PX', ARGV[3])
            return 1
            """)

    /// Notes that all entries are invalid, which are then removed one after the other.
    ///
    /// - `KEYS`: the number of the last invalidation of any key, and of all keys.
    /// - `ARGV`: the time for which the invalidation is known.
    static let invalidateAll = RedisScript(
        text: nextNumber + """
            redis.call('UNLINK', KEYS[2])
            redis.call('SET', KEYS[2], nextNumber(KEYS[1]), 'PX', ARGV[1])
            return 1
            """)
}
#endif
