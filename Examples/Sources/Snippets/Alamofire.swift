import Foundation
import Trellis

/// The code of the page for those who come from Alamofire.
struct AlamofirePage {
    struct User: Codable, Sendable { var name: String }
    struct NewUser: Codable, Sendable { var name: String }
    struct Filter: Codable, Sendable { var since: Date }
    struct Entry: Codable, Sendable { var text: String }
    struct Nothing: Error {}

    let session: Session
    let url: URL
    let token: String
    let newUser: NewUser
    let filter: Filter

    func send() async throws -> User {
        // Trellis
        let user = try await session.request(url, method: .post, parameters: newUser, encoder: .json)
            .validate()
            .decode(User.self)
        return user
    }

    func makeSession() async throws {
        var configuration = SessionConfiguration()
        configuration.baseURL = "https://api.example.com/v2/"
        configuration.defaultHeaders[.accept] = "application/json"
        configuration.userAgent = UserAgent.naming("backup", version: "2.1")
        configuration.timeouts = Timeouts(total: .seconds(30))
        let session = Session(configuration: configuration)

        let (data, response) = try await session.data("users/1")  // https://api.example.com/v2/users/1
        let (_, created) = try await session.upload(Data("{}".utf8), to: "users")  // POST unless you say otherwise
        print(data, response, created)
    }

    enum Users: RequestConvertible {  // Alamofire's router
        case show(Int)
        case create(NewUser)

        func asRequest() throws -> Request {
            switch self {
            case .show(let id): Request("users/\(id)")
            case .create(let user): try Request("users", method: .post).withParameters(user, encoder: .json)
            }
        }
    }

    func makeRequests() async throws {
        let user = try await session.decode(User.self, from: Users.show(7))

        let request = Request("users/7", headers: [.accept("text/html"), .authorization(bearerToken: token)])
            .withMethod(.patch)
            .withBody(.file("/tmp/patch.json", contentType: "application/json"))
            .withTimeouts(Timeouts(connect: .seconds(2), total: .seconds(10)))
        let handle = session.request(request)
        print(try handle.request, await handle.state, handle.exchanges, handle.retryCount)

        let other = session.request("https://example.com/", headers: [.userAgent("a/1")]) { request in
            request.httpVersion = .http1Only  // requestModifier
        }
        print(user, other)
    }

    func encodeParameters() async throws {
        let created = try await session.request("users", method: .post, parameters: newUser, encoder: .json)
            .decode(User.self)
        // users?name=Ann&page=2
        let found = try await session.request("users", parameters: ["name": "Ann", "page": "2"]).string()
        let mixed = session.request(
            "users", method: .post, parameters: ["name": "Ann", "tags": [1, "x"] as [any Sendable]],
            encoding: JSONEncoding.default)

        let form = URLEncodedFormEncoder(arrayEncoding: .noBrackets, boolEncoding: .literal, dateEncoding: .iso8601)
        let search = try Request("search").withParameters(filter, encoder: .form(destination: .query, encoder: form))

        let dates = JSONEncoder()
        dates.dateEncodingStrategy = .iso8601
        let report = try Request("reports", method: .put).withParameters(filter, encoder: .json(encoder: dates))
        print(created, found, mixed, search, report)
    }

    func sendForms() async throws {
        let (reply, _) = try await session.upload(to: "pictures") { form in
            form.append("Ann", withName: "author")
            form.append(fileAt: "/tmp/rose.jpg", withName: "picture")  // streamed while it is sent
            form.append(Data(), withName: "thumb", fileName: "t.png", mimeType: "image/png")
        }

        var log = Request("logs", method: .post, body: .file("/var/log/app.log"))
        log.compression = RequestCompression(.gzip, duplicateHeaderBehavior: .skip)
        let (_, stored) = try await session.data(log)

        print(try session.cURLDescription(of: log))  // secrets left out
        print(try session.cURLDescription(of: log, CURLDescriptionOptions(revealingSecrets: true, isMultiline: true)))
        print(reply, stored)
    }

    func transferFiles() async throws {
        let download = session.downloadRequest(
            "images/big.iso", to: .directory("/srv/images", [.createIntermediateDirectories]))
        for await progress in download.progress { print(progress.fraction ?? 0) }
        let file = try await download.value
        print(file.path, file.interruptions)

        let interrupted = session.downloadRequest("images/other.iso", to: .file("other.iso", .removePreviousFile))
        interrupted.resume()
        if let resumeData = await interrupted.cancelProducingResumeData() {
            _ = try await session.downloadRequest(resuming: resumeData, to: .file("other.iso")).value
        }

        let upload = session.uploadRequest(fileAt: "/tmp/film.mp4", to: "films").validate()
        let watching = Task { for await progress in upload.uploadProgress { print(progress.completedBytes) } }
        _ = try await upload.data()
        await watching.value
    }

    func validate() async throws -> String {
        let text = try await session.request(url)
            .validate(statusCode: [200, 404])
            .validate(contentType: ["text/*"])
            .validate { _, _, body in if body?.isEmpty ?? true { throw Nothing() } }
            .string()
        return text
    }

    func readResponses() async throws {
        let request = session.request(url)
        let user = try await request.decode(User.self)
        let sameAgain = try await request.data()  // sent once, read any number of times

        let response = try await request.response(of: User.self).map(\.name)
        print(response.value, response.status, response.metrics.firstByte, response.serializationDuration)

        let nothing = try await session.decode(User?.self, from: url)  // nil with a 204
        let settings = try await session.decode(User.self, from: url, decoder: .propertyList)
        let guarded = try await request.serialize(with: .decodable(User.self, preprocessor: .googleXSSI))
        let size = try await request.serialize(with: CustomResponseSerializer { _, _, data in data.count })

        do {
            _ = try await request.decode(User.self, orError: ProblemDetails.self)
        } catch let error as ErrorResponse<ProblemDetails> {
            print(error.body.title ?? "", error.response.status)
        }
        print(user, sameAgain, nothing as Any, settings, guarded, size)
    }

    func readStreams() async throws {
        for try await line in try await session.stream(url).validate().lines { print(line) }

        for try await entry in try await session.stream(url).jsonLines(of: Entry.self) { print(entry) }

        for try await event in session.eventSource(url) { print(event.event, event.data) }  // opened again when it ends

        for try await part in try await session.stream(url).parts {
            print(part.headers, try await part.body.collect(upTo: 1 << 20).count)
        }

        try await session.withResponse(to: url) { response, body in
            guard response.status == .ok else { return }
            for try await text in body.strings { print(text, terminator: "") }
        }
    }

    func catchErrors() async throws {
        do {
            _ = try await session.decode(User.self, from: url)
        } catch let error as TrellisError where error.isTimeout || error.isConnectionFailure {
            print("try again later:", error)  // a sentence with method, URL and time
        } catch let error as TrellisError where error.kind == .unacceptableStatus {
            print(error.response?.status as Any, error.bodyExcerpt?.text ?? "")
        } catch let error as TrellisError {
            if case .serializationFailed(.decoding(_, let why)) = error.reason { print(why, error.underlying as Any) }
        }
    }

    struct APIKey: RequestAdapter {
        let key: String

        func adapt(_ request: Request, context: CallContext) async throws -> Request {
            request.withHeader("X-API-Key", key)
        }
    }

    func intercept(_ configuration: inout SessionConfiguration) async throws {
        configuration.steps.adapters.append(APIKey(key: "…"))
        configuration.retry = RetryPolicy(retryLimit: 3)
        configuration.steps.retriers.append(
            Retrier { attempt, _ in attempt.response?.status == 425 ? .retryWithDelay(.seconds(1)) : .doNotRetry })

        let (latest, _) = try await session.data("news", interceptor: RetryPolicy(retryLimit: 5))
        print(latest)
    }

    struct Tokens: AuthenticationCredential, Decodable {
        var access: String
        var refresh: String
        var lifetime: Double
        var received = Date.now  // no key: the server sends a lifetime, not a date
        var requiresRefresh: Bool { received.addingTimeInterval(lifetime - 60) < .now }

        private enum CodingKeys: String, CodingKey {
            case access = "access_token"
            case refresh = "refresh_token"
            case lifetime = "expires_in"
        }
    }

    struct OAuth: Authenticator {
        func apply(_ credential: Tokens, to request: inout Request) {
            request.headers[.authorization] = "Bearer " + credential.access
        }

        func refresh(_ credential: Tokens, using session: RefreshSession) async throws -> Tokens {
            let request = try Request("https://id.example.com/token", method: .post)
                .withParameters(["grant_type": "refresh_token", "refresh_token": credential.refresh], encoder: .form)
            return try await session.decode(from: request)
        }
    }

    func authenticate(_ tokens: Tokens, _ configuration: inout SessionConfiguration) throws {
        configuration.authentication = .interceptor(
            AuthenticationInterceptor(authenticator: OAuth(), credential: tokens))

        configuration.authentication = try .basic("ann", "…", origin: "https://api.example.com")
        // Or, without the password on the wire:
        configuration.authentication = try .digest("ann", "…", origin: "https://api.example.com")

        let report = Request("report").respondingToChallenges(username: "ann", password: "…")  // once the server asks
        print(report)
    }

    func observe(_ configuration: inout SessionConfiguration) async throws {
        configuration.steps.redirectHandler = .modify { request, response in
            response.redirects.count < 3 ? request : nil
        }
        configuration.cookies = CookieFile(path: "cookies.txt")
        configuration.eventMonitors = [RequestLog()]  // GET https://example.com/a 200 12 ms (call 7)
        configuration.eventMonitors.append(
            ClosureEventMonitor { event in print(event.callID, event.method, event.url, event.kind) })
        let page = try await session.data(Request("old").withRedirectHandler(.doNotFollow))

        let watching = Task { for await event in session.requestEvents { print(event.elapsed, event.kind) } }
        watching.cancel()
        print(page)
    }
}
