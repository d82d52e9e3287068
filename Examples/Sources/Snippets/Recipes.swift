import Dispatch
import Foundation
import Glibc
import Trellis
import TrellisSignatures
import TrellisTesting

/// The code of the page of recipes.
enum RecipesPage {
    struct User: Codable, Sendable { var name: String }

    static func getJSONWithAQueryAndAToken(_ session: Session, token: String) async throws {
        let users = try await session.decode(
            [User].self, from: Request("https://api.example.com/users").withAuthorization(bearerToken: token),
            query: ["page": "2", "q": "tea & milk"])
        print(users.count)
    }

    static func postJSON(_ session: Session, newUser: User) async throws {
        let saved = try await session.decode(
            User.self, from: Request("https://api.example.com/users", method: .post, body: .json(newUser)))
        print(saved.name)
    }

    static func postAForm(_ session: Session, password: String) async throws {
        let login = Request(
            "https://example.com/login", method: .post, body: .form(["user": "ada", "password": password]))
        let (page, response) = try await session.data(login)
        print(page.count, response.isSuccess)
    }

    static func uploadAFile(_ session: Session) async throws {
        let target = Request("https://files.example.com/report.pdf", method: .put)
        let (_, response) = try await session.upload(fileAt: "report.pdf", to: target)
        try response.validate()
    }

    static func sendAMultipartFormAndShowItsProgress(_ session: Session) async throws {
        let upload = session.uploadRequest(to: "https://example.com/pictures") { form in
            form.append("Ada", withName: "author")
            form.append(fileAt: "rose.jpg", withName: "picture")
        }.validate()
        for await progress in upload.uploadProgress { print(progress.fraction ?? 0) }
        let reply = try await upload.data()
        print(reply.count)
    }

    static func limitTheTimeOfARequest(_ configuration: inout SessionConfiguration, _ session: Session) async throws {
        let (data, _) = try await session.data("https://api.example.com/report", timeout: .seconds(5))
        configuration.timeouts = Timeouts(connect: .seconds(3), idle: .seconds(20))
        print(data.count)
    }

    static func cancelARequest(_ session: Session) async throws {
        let report = Task { try await session.data("https://api.example.com/report").0 }
        report.cancel()  // its value is a CancellationError
        print(try await report.value.count)
    }

    static func sendManyRequestsAFewAtATime(
        _ configuration: inout SessionConfiguration, _ session: Session, urls: [String]
    ) async throws {
        let users = try await session.map(urls, concurrency: 8) { session, url in
            try await session.decode(User.self, from: url)
        }
        configuration.limits.requestsPerOrigin = 16
        print(users.count)
    }

    static func keepASlowServerFromHoldingEverythingUp(_ configuration: inout SessionConfiguration) {
        configuration.timeouts.deadlineField = .grpcTimeout
        configuration.limits.waitingPerOrigin = 200
        configuration.limits.shedsLateRequests = true
    }

    static func readAllPagesOfAList(_ session: Session) async throws {
        for try await page in session.pages(of: [User].self, from: "https://api.example.com/users") {
            for user in page { print(user.name) }
        }
    }

    static func retryWithABackoff(_ configuration: inout SessionConfiguration) {
        configuration.retry = RetryPolicy(
            retryLimit: 4, exponentialBackoffScale: .milliseconds(200), maximumBackoff: .seconds(10))
    }

    static func retryAPOSTSafely(_ configuration: inout SessionConfiguration, newUser: User, id: String) throws {
        configuration.retry = RetryPolicy(addsIdempotencyKey: true)
        var payment = try Request("https://api.example.com/payments", method: .post, body: .json(newUser))
        payment.headers["Idempotency-Key"] = id  // or a key of your own, which survives a restart of the process
        print(payment.url)
    }

    struct Problem: Decodable, Sendable { var code: String }

    static func readTheErrorsOfMyAPI(_ session: Session) async throws {
        do {
            let user = try await session.decode(
                User.self, from: "https://api.example.com/users/7", orError: Problem.self)
            print(user.name)
        } catch let error as ErrorResponse<Problem> {
            print(error.response.status.code, error.body.code)
        }
    }

    static func treatA404AsNothing(_ session: Session) async throws -> User? {
        do {
            return try await session.decode(User.self, from: "https://api.example.com/users/7")
        } catch let error as TrellisError where error.statusCode == 404 {
            return nil
        }
    }

    static func respectRateLimits(_ configuration: inout SessionConfiguration) {
        configuration.steps.rateLimiters = [RateLimiter(RateLimit(requestsPerSecond: 5, burst: 10))]
        configuration.retry = RetryPolicy()
    }

    static func keepFromOverloading(_ configuration: inout SessionConfiguration) {
        configuration.steps.adaptiveConcurrency = AdaptiveConcurrency(.gradient())
        configuration.retry = RetryPolicy()
    }

    static func downloadAFileAndResumeIt(_ session: Session) async throws {
        let download = session.downloadRequest("https://example.com/big.iso", to: .file("big.iso"))
        for await progress in download.progress { print(progress.fraction ?? 0) }
        let file = try await download.value
        print(file.size)
    }

    static func downloadTheFilesOfASHA256SUMSList(_ session: Session) async throws {
        let folder = "https://example.com/iso"
        let lines = try await session.string("\(folder)/SHA256SUMS").split(separator: "\n")
        let downloads = lines.compactMap { line -> DownloadRequest? in
            let words = line.split(separator: " ", maxSplits: 1)
            guard let digest = words.first, let name = words.last?.drop(while: { $0 == " " || $0 == "*" }),
                words.count == 2, !name.contains("/")
            else { return nil }
            return session.downloadRequest(
                "\(folder)/\(name)", to: .file("iso/\(name)", [.createIntermediateDirectories, .keepIfItMatches]),
                checksum: .sha256(String(digest)))
        }
        for await outcome in session.downloads(of: downloads, maximumConcurrency: 4) {
            print(try outcome.result.get().path)
        }
    }

    static func showTheProgressOfManyDownloads(_ session: Session, downloads: [DownloadRequest]) async {
        let batch = session.downloads(of: downloads, maximumConcurrency: 4)
        async let _: Void = {
            for await progress in batch.progress {
                print("\(batch.finishedCount) of \(batch.count) files,", progress.completedBytes, "bytes")
            }
        }()
        for await outcome in batch { print(outcome.index, outcome.result) }  // this loop starts the downloads
    }

    struct Question: Encodable, Sendable { var text: String }
    struct Delta: Decodable, Sendable { var text: String }

    static func readAChatCompletionAsItIsWritten(_ session: Session, question: Question) async throws {
        let chat = try Request("https://api.example.com/chat", method: .post, body: .json(question))
        let answer = try await session.stream(chat, timeouts: Timeouts(idle: .seconds(60), total: nil)).validate()
        for try await delta in answer.events(of: Delta.self, until: "[DONE]") {
            FileHandle.standardOutput.write(Data(delta.text.utf8))
        }
    }

    static func retryUntilTheFirstTokenAndNotAfterIt(_ session: Session, question: Question, id: String) async throws {
        var chat = try Request("https://api.example.com/chat", method: .post, body: .json(question))
        chat.headers["Idempotency-Key"] = id  // makes the POST repeatable
        var policy = RetryPolicy(retryLimit: 3)
        policy.waitsForFirstByte = true
        let answer = try await session.stream(chat, interceptor: policy).validate()
        for try await delta in answer.events(of: Delta.self) { print(delta.text, terminator: "") }
    }

    static func followAStreamOfEventsForEver(_ session: Session) async throws {
        for try await event in session.eventSource("https://example.com/news") {
            print(event.event, event.data)
        }
    }

    static func chatOverAWebSocket(_ session: Session, lines: AsyncStream<String>) async throws {
        try await session.withWebSocket("wss://example.com/chat") { socket in
            try await withThrowingTaskGroup(of: Bool.self) { group in
                group.addTask {
                    for try await message in socket.messages { print(message) }
                    return true
                }
                group.addTask {
                    for await line in lines { try await socket.send(line) }
                    if !Task.isCancelled { try await socket.close() }
                    return false
                }
                while let hasEnded = try await group.next() { if hasEnded { group.cancelAll() } }
            }
        }
    }

    struct Tokens: AuthenticationCredential, Codable {
        var access: String
        var refresh: String
        var expiration: Date
        var requiresRefresh: Bool { expiration.timeIntervalSinceNow < 60 }
    }

    struct OAuth: Authenticator {
        let save: @Sendable (Tokens) async throws -> Void

        func apply(_ tokens: Tokens, to request: inout Request) {
            request = request.withAuthorization(bearerToken: tokens.access)
        }

        func refresh(_ tokens: Tokens, using session: RefreshSession) async throws -> Tokens {
            let form = ["grant_type": "refresh_token", "refresh_token": tokens.refresh]
            let request = try Request("https://id.example.com/token", method: .post, body: .form(form))
            let new = try await session.decode(Tokens.self, from: request)
            try await save(new)
            return new
        }
    }

    static func refreshOAuthTokensAndKeepThem(
        _ configuration: inout SessionConfiguration, tokens: Tokens,
        save: @escaping @Sendable (Tokens) async throws -> Void
    ) {
        configuration.authentication = .interceptor(
            AuthenticationInterceptor(authenticator: OAuth(save: save), credential: tokens))
    }

    static func signRequestsToS3(_ configuration: inout SessionConfiguration, id: String, secret: String) {
        configuration.steps.signers.append(
            AWSSigner(region: "eu-central-1", service: "s3") {
                AWSCredentials(accessKeyID: id, secretAccessKey: secret)
            })
    }

    static func signRequests(_ configuration: inout SessionConfiguration, pem: String) throws {
        configuration.steps.signers.append(MessageSigner(key: try .pem(pem, id: "client-2026")))
    }

    static func useAClientCertificate(_ configuration: inout SessionConfiguration, passphrase: String) {
        configuration.tls.clientIdentity = ClientIdentity(certificate: .file("client.pem"), key: .file("client.key"))
        configuration.tls.clientIdentity = ClientIdentity(certificate: .file("client.p12")) { passphrase }
    }

    static func trustTheAuthorityOfMyCompany(_ configuration: inout SessionConfiguration) {
        configuration.tls.authorities = .systemAnd([.file("/etc/company/ca.pem")])
    }

    static func shareCookies(
        _ first: inout SessionConfiguration, _ second: inout SessionConfiguration, _ third: inout SessionConfiguration
    ) {
        let jar = CookieJar()
        first.cookies = jar
        second.cookies = jar
        third.cookies = CookieFile(path: "cookies.txt")  // in the format of curl and Netscape
    }

    static func useAProxy(_ configuration: inout SessionConfiguration) throws {
        configuration.proxy = .environment  // HTTPS_PROXY, NO_PROXY and so on, as curl reads them
        configuration.proxy = .always(try Proxy("http://proxy.example:3128"), except: "localhost, .internal.example")
    }

    static func chooseTheLocalAddressOrInterface(_ configuration: inout SessionConfiguration) throws {
        configuration.route.source = try .interface("eth1")
        configuration.route.source = try .address("192.0.2.1")
    }

    static func spreadRequestsOverSeveralServersOfOneName(_ configuration: inout SessionConfiguration) {
        configuration.endpoints["https://orders.internal"] = EndpointPool(addressesOf: "orders.internal")
        configuration.retry = RetryPolicy()
    }

    static func fetchURLsOfStrangersWithoutReachingMyOwnNetwork(_ configuration: inout SessionConfiguration) {
        configuration.egress = .publicInternet
        configuration.maximumBodySize = .bytes(10 << 20)
    }

    static func downloadOnlyWhatHasChanged(_ configuration: inout SessionConfiguration, _ session: Session) async throws
    {
        configuration.cache = HTTPCache(storage: DiskCacheStorage(directory: "/var/cache/fetcher"))
        let (data, response) = try await session.data(Request("https://example.com/rates").withCacheMode(.noCache))
        print(data.count, response.cacheStatus ?? "no cache")
    }

    static func seeWhatIsSentAndReceived(_ configuration: inout SessionConfiguration) {
        configuration.eventMonitors = [RequestLog(.bodies(limit: 4096))]
    }

    static func testWithoutANetwork() async throws {
        let transport = MockTransport { request in
            request.url.hasSuffix("/users/7") ? .json(#"{"name": "Ada"}"#) : MockResponse(status: 404)
        }
        let session = Session(transport: transport)
        let user = try await session.decode(User.self, from: "https://api.example.com/users/7")
        print(user.name, transport.requests.map(\.url))
    }

    static func endACommandlineToolWithCtrlC(_ session: Session) async throws {
        let work = Task { try await session.download("https://example.com/big.iso", to: .file("big.iso")) }
        signal(SIGINT, SIG_IGN)
        let interruption = DispatchSource.makeSignalSource(signal: SIGINT)
        interruption.setEventHandler { work.cancel() }
        interruption.activate()
        do {
            print(try await work.value.path)
        } catch is CancellationError {
            exit(130)
        }
    }
}
