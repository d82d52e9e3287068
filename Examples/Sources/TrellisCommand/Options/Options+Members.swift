import Trellis

/// The members of the groups, by their names.
extension Options {
    var data: [BodyArgument] { content.data }
    var json: BodyArgument? { content.json }
    var form: [NamedValue] { content.form }
    var parts: [PartArgument] { content.parts }
    var query: [NamedValue] { content.query }
    var compress: Bool { content.compress }
    var get: Bool { content.get }
    var noStdin: Bool { content.noStdin }
    var uploadFile: String? { content.uploadFile }
    var connectTimeout: Double { limits.connectTimeout }
    var idleTimeout: Double { limits.idleTimeout }
    var deadline: Double? { limits.deadline }
    var maxBody: Int? { limits.maxBody }
    var retries: Int? { limits.retries }
    var redirects: Int? { limits.redirects }
    var noRedirects: Bool { limits.noRedirects }
    var cancelAfter: Double? { limits.cancelAfter }
    var retryDelay: Double? { limits.retryDelay }
    var limitRate: RateArgument? { limits.limitRate }
    var user: String? { credentials.user }
    var auth: AuthenticationOption? { credentials.auth }
    var cookieJar: String? { credentials.cookieJar }
    var cookieFile: String? { credentials.cookieFile }
    var netrc: Bool { credentials.netrc }
    var netrcFile: String? { credentials.netrcFile }
    var cacert: String? { tls.cacert }
    var insecure: Bool { tls.insecure }
    var proxy: ProxyArgument? { proxies.proxy }
    var noProxy: String? { proxies.noProxy }
    var proxyUser: String? { proxies.proxyUser }
    var stream: StreamOption? { streaming.stream }
    var limit: Int? { streaming.limit }
    var output: String? { places.output }
    var resume: Bool { places.resume }
    var connections: Int { places.connections }
    var checksum: ChecksumArgument? { places.checksum }
    var report: ReportOption? { places.report }
    var validatesAnswer: Bool { places.validatesAnswer }
    var noDecompress: Bool { places.noDecompress }
    var fail: Bool { places.fail }
    var failWithBody: Bool { places.failWithBody }
    var createDirs: Bool { places.createDirs }
    var dumpHeader: String? { places.dumpHeader }
    var writeOut: String? { places.writeOut }
    var printsCURLCommand: Bool { tools.printsCURLCommand }
    var showSecrets: Bool { tools.showSecrets }
    var verbose: Bool { tools.verbose }
    var timing: Bool { tools.timing }
    var silent: Bool { tools.silent }
    var showError: Bool { tools.showError }
    var `repeat`: Int? { tools.repeat }
    var concurrency: Int? { tools.concurrency }
    var swift: Bool { tools.swift }
}
