#if Configuration
import Configuration
import Testing
import TrellisCaching
import TrellisCore
import TrellisConfiguration

/// Values that cannot be used: the error names the key and the reason.
struct InvalidSettingTests {
    private func error(_ settings: [String: SettingValue]) async -> InvalidSetting? {
        await #expect(throws: InvalidSetting.self) {
            try await SessionConfiguration(reading: SettingCase.reader(settings))
        }
    }

    @Test(
        arguments: [
            ("timeouts.connect", .int(0), "0.0 is not more than 0"),
            ("timeouts.connect", .double(-1), "-1.0 is less than 0.0"),
            ("timeouts.connect", .double(.infinity), "inf is not a number"),
            ("timeouts.connect", .double(1e12), "1000000000000.0 is more than 1000000000.0"),
            ("limits.idleLifetime", .double(0.5), "0.5 is less than 1.0"),
            ("limits.total", .int(0), "0 is less than 1"),
            ("engines", .int(2_000), "2000 is more than 1024"),
            (
                "httpVersion", .string("2"),
                "'2' is none of automatic, http1Only, http2, http2PriorKnowledge, http3Preferred, http3Only"
            ),
            ("baseURL", .string("api.example.com"), "it is not an absolute URL with http or https and a host"),
            ("headers", .strings(["A: 1", "b"]), "element 2 is not of the form 'Name: value'"),
            ("headers", .strings(["A: 1\r\nB: 2"]), "it has bytes that no field may have"),
            ("queryItems", .strings(["=1"]), "element 1 is not of the form 'name=value'"),
            (
                "proxy.url", .string("ftp://proxy.example"),
                "the URL cannot be requested: it is not that of a proxy: it does not begin with http://, https://, socks4://, socks4a://, socks5://, socks5h://"
            ),
            ("proxy.script", .string(""), "it is empty"),
            ("route.source", .string("a b"), "no network interface can have the name 'a b'"),
            ("egress.policy", .string("any"), "'any' is none of public"),
            ("egress.deniedNetworks", .strings(["::/0", "x"]), "'x' is not a network such as 10.1.0.0/16"),
            ("tls.minimumVersion", .string("1.1"), "'1.1' is none of 1.2, 1.3"),
            ("retry.methods", .strings(["GET", "P ST"]), "'P ST' is not a method"),
            ("retry.statusCodes", .ints([502, 700]), "700 is not a status"),
            ("retry.budgetRatio", .double(1.5), "1.5 is more than 1.0"),
            ("circuitBreaker.failureRatio", .int(0), "0.0 is not more than 0"),
            ("cookies.file", .string(""), "it is empty"),
            (
                "resolver.url", .string("http://dns.example/"),
                "the URL cannot be requested: it is not that of a DNS server: it is not https"
            ),
        ] as [(String, SettingValue, String)])
    func aValueIsRefused(_ key: String, _ value: SettingValue, _ reason: String) async {
        let error = await error([key: value])
        #expect(error?.key == key)
        #expect(error?.reason == reason)
        #expect(error?.scopedKey == "http.\(key)")
        #expect(error?.description == "the setting http.\(key) cannot be used: \(reason)")
    }

    /// A number in place of a word, as in a file.
    @Test func theWordsThatAreExpectedAreTold() async {
        let words = "one of automatic, http1Only, http2, http2PriorKnowledge, http3Preferred, http3Only is expected ("
        #expect(await error(["httpVersion": .int(2)])?.reason.hasPrefix(words) == true)
        #expect(await error(["userAgent": .int(2)])?.reason.hasPrefix("a text is expected (") == true)
    }

    @Test func theScopeIsThatOfTheReader() async {
        func key(_ scopes: [ConfigKey], _ key: String, _ value: String) async -> String? {
            let name = (scopes + [ConfigKey(key)]).map(\.description).joined(separator: ".")
            let values = [AbsoluteConfigKey(ConfigKey(name)): ConfigValue(.string(value), isSecret: false)]
            let whole = ConfigReader(provider: InMemoryProvider(values: values))
            let reader = scopes.reduce(whole) { $0.scoped(to: $1) }
            let error = await #expect(throws: InvalidSetting.self) {
                try await SessionConfiguration(reading: reader)
            }
            return error?.scopedKey
        }
        #expect(await key([], "engines", "many") == "engines")
        #expect(await key(["shop", "http.api"], "engines", "many") == "shop.http.api.engines")
        // A setting that means nothing without another one.
        #expect(await key(["http"], "proxy.username", "ann") == "http.proxy.username")
    }

    @Test(
        arguments: [
            ("timeouts.connect", "soon", "a number or none is expected"),
            ("engines", "many", "a whole number or automatic is expected"),
            ("limits.total", "2.5", "a whole number is expected"),
            ("decodesContent", "perhaps", "true or false is expected"),
            ("retry.statusCodes", "502,x", "a list of whole numbers is expected"),
            ("retry.backoffBase", "two", "a number is expected"),
            ("maximumBodySize", "none", "a whole number or unlimited is expected"),
        ] as [(String, String, String)])
    func aValueOfAnotherTypeIsRefused(_ key: String, _ text: String, _ reason: String) async {
        let error = await #expect(throws: InvalidSetting.self) {
            try await SessionConfiguration(reading: SettingCase.environment([key: text]))
        }
        #expect(error?.key == key)
        #expect(error?.reason.hasPrefix(reason + " (") == true)
        #expect(error?.reason.contains(SettingCase.variable("http.\(key)")) == true, "the provider's own name of it")
    }

    @Test(
        arguments: [
            (["bandwidth.uploadBurst": .int(1)], "bandwidth.uploadBurst", "it means nothing without bandwidth.upload"),
            (
                ["tls.clientKeyFile": .string("k")], "tls.clientKeyFile",
                "it means nothing without tls.clientCertificateFile"
            ),
            (
                ["tls.trustsSystem": .bool(false)], "tls.trustsSystem",
                "no authority is trusted without tls.authorityFiles"
            ),
            (
                ["tls.minimumVersion": .string("1.3"), "tls.maximumVersion": .string("1.2")], "tls.maximumVersion",
                "the newest version is older than the oldest one"
            ),
            (["proxy.username": .string("ann")], "proxy.username", "it means nothing without proxy.url"),
            (
                ["proxy.url": .string("environment"), "proxy.exceptions": .string("a")], "proxy.exceptions",
                "proxy.url is the word environment, and names no proxy"
            ),
            (
                ["proxy.url": .string("direct"), "proxy.script": .string("proxy.pac")], "proxy.script",
                "there is proxy.url as well"
            ),
            (["resolver.bootstrap": .strings(["::1"])], "resolver.bootstrap", "it means nothing without resolver.url"),
            (
                ["egress.allowedNetworks": .strings(["::1"])], "egress.allowedNetworks",
                "it means nothing without egress.policy"
            ),
            (["retry.backoff": .int(1)], "retry.backoff", "it means nothing without retry.limit"),
            (
                ["hedging.maximumExtraAttempts": .int(1)], "hedging.maximumExtraAttempts",
                "it means nothing without hedging.delay"
            ),
            (["rateLimit.burst": .int(1)], "rateLimit.burst", "it means nothing without rateLimit.requestsPerSecond"),
            (
                ["circuitBreaker.window": .int(1)], "circuitBreaker.window",
                "it means nothing without circuitBreaker.enabled"
            ),
            (["cache.sharing": .string("shared")], "cache.sharing", "it means nothing without cache.enabled"),
        ] as [([String: SettingValue], String, String)])
    func aSettingThatMeansNothingIsRefused(_ settings: [String: SettingValue], _ key: String, _ reason: String) async {
        let error = await error(settings)
        #expect(error?.key == key)
        #expect(error?.reason == reason)
    }

    /// A storage of the program's own has limits of its own.
    @Test func aLimitThatTheStorageOfTheDefaultsDoesNotHaveIsRefused() async {
        let error = await #expect(throws: InvalidSetting.self) {
            var defaults = SessionConfiguration()
            defaults.steps.cache = HTTPCache(storage: OwnStorage())
            let reader = SettingCase.reader(["cache.maximumCount": .int(1)])
            _ = try await SessionConfiguration(reading: reader, defaults: defaults)
        }
        #expect(error?.key == "cache.maximumCount")
        #expect(error?.reason == "the storage of the program's cache has no such limit")
    }

    @Test func anAddressOfTheResolverIsToldFromItsURL() async {
        let error = await error([
            "resolver.url": .string("https://dns.example/"), "resolver.bootstrap": .strings(["dns"]),
        ])
        #expect(error?.key == "resolver.bootstrap")
    }
}

/// A storage that is none of the framework's.
private struct OwnStorage: CacheStorage {
    private struct Odd: Error {}

    private let memory = MemoryCacheStorage()

    func entries(for key: CacheKey) async throws -> [CacheEntry] { [] }
    func makeWriter(for key: CacheKey, _ head: CachedHead, length: Int64?) async throws -> any CacheWriter {
        throw Odd()
    }
    func update(_ entry: CacheEntry, for key: CacheKey, to head: CachedHead) async throws {}
    func remove(_ entry: CacheEntry, for key: CacheKey) async throws {}
    func removeEntries(for key: CacheKey) async throws {}
    func removeAll() async throws {}
    var keys: AsyncThrowingStream<CacheKey, any Error> { memory.keys }
    var usage: CacheUsage { memory.usage }
}
#endif
