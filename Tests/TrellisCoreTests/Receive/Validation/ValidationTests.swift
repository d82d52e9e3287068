import FoundationEssentials
import HTTPTypes
import Testing

@testable import TrellisCore

/// The validators, their order, and the messages of their errors.
struct ValidationTests {
    private static let named: [String: Validator] = [
        "status": .successfulStatus, "accept": .acceptedContentType, "404": .statusCode([404]),
        "json": .contentType(["application/json"]), "check": Validator { _, _, _ in throw Refused() },
        "below 400": .statusCode(..<400), "closed": .statusCode(200...201),
    ]

    private struct Refused: Error {}

    private func kind(
        _ names: String, _ answer: Answer, withDefaults: Bool = false
    ) async throws -> TrellisError.Kind? {
        var validation = Validation()
        for name in names.split(separator: ",") {
            validation = validation.adding(try #require(Self.named[String(name)]))
        }
        do {
            try await validation.validators(withDefaults: withDefaults).validate(answer)
            return nil
        } catch let error as TrellisError {
            return error.kind
        } catch {
            // The validator's own error is thrown unchanged.
            #expect(error is Refused)
            return .other
        }
    }

    @Test(
        arguments: [
            ("status", 200, nil), ("status", 299, nil), ("status", 199, .unacceptableStatus),
            ("status", 300, .unacceptableStatus), ("status", 404, .unacceptableStatus),
            ("status", 999, .unacceptableStatus),
            ("404", 404, nil), ("404", 200, .unacceptableStatus), ("below 400", 399, nil), ("below 400", 101, nil),
            ("below 400", 400, .unacceptableStatus), ("closed", 201, nil), ("closed", 202, .unacceptableStatus),
        ] as [(String, Int, TrellisError.Kind?)])
    func statuses(_ validator: String, _ status: Int, _ expected: TrellisError.Kind?) async throws {
        #expect(try await kind(validator, .test(status)) == expected)
    }

    struct TypeRow: Sendable {
        let accept: String?
        let type: String?
        var body: Data? = Data("x".utf8)
        var status = 200
        var method = HTTPRequest.Method.get
        var fields: HTTPFields = [:]
        let isAccepted: Bool
    }

    @Test(arguments: [
        TypeRow(accept: nil, type: "text/html", isAccepted: true),
        TypeRow(accept: nil, type: nil, isAccepted: true),
        TypeRow(accept: "application/json", type: "application/json;charset=utf-8", isAccepted: true),
        TypeRow(accept: "application/json;v=1", type: "application/json", isAccepted: true),
        TypeRow(accept: "application/json", type: "text/html", isAccepted: false),
        TypeRow(accept: "application/json", type: nil, isAccepted: false),
        TypeRow(accept: "application/json, */*;q=0.1", type: nil, isAccepted: true),
        // An empty body is accepted with any type.
        TypeRow(accept: "application/json", type: "text/html", body: Data(), isAccepted: true),
        TypeRow(accept: "application/json", type: nil, body: Data(), isAccepted: true),
        // The body of a stream is still to come, unless its head rules out a body.
        TypeRow(accept: "application/json", type: nil, body: nil, isAccepted: false),
        TypeRow(accept: "application/json", type: nil, body: nil, status: 204, isAccepted: true),
        TypeRow(accept: "application/json", type: nil, body: nil, method: .head, isAccepted: true),
        TypeRow(
            accept: "application/json", type: nil, body: nil, fields: [.contentLength: "0"], isAccepted: true),
        TypeRow(
            accept: "application/json", type: nil, body: nil, fields: [.contentLength: "10"], isAccepted: false),
    ])
    func contentTypesAgainstAccept(_ row: TypeRow) async throws {
        let answer = Answer.test(
            row.status, type: row.type, body: row.body, method: row.method, accept: row.accept, fields: row.fields)
        #expect(try await kind("accept", answer) == (row.isAccepted ? nil : .unacceptableContentType))
    }

    @Test(
        arguments: [
            ("status,accept", .unacceptableStatus), ("accept,status", .unacceptableContentType),
            ("check,status", .other), ("status,check", .unacceptableStatus),
            ("404,json,check", .unacceptableContentType),
        ] as [(String, TrellisError.Kind)])
    func theFirstFailureWins(_ validators: String, _ expected: TrellisError.Kind) async throws {
        #expect(try await kind(validators, .test(404, type: "text/html", accept: "image/*")) == expected)
    }

    /// A default validation holds unless a validator of the same kind replaces it; the response is a 404 page.
    @Test(
        arguments: [
            ("", .unacceptableStatus), ("404", .unacceptableContentType), ("json", .unacceptableStatus),
            ("404,json", .unacceptableContentType), ("check", .unacceptableStatus),
            ("404,accept", .unacceptableContentType),
        ] as [(String, TrellisError.Kind)])
    func onlyWhatWasNamedReplacesADefault(_ validators: String, _ expected: TrellisError.Kind) async throws {
        let page = Answer.test(404, type: "text/html", accept: "application/json")
        #expect(try await kind(validators, page, withDefaults: true) == expected)
    }

    @Test func switchedOffNothingIsCheckedUntilSomethingIsNamed() async throws {
        let page = Answer.test(404, type: "text/html", accept: "application/json")
        try await Validation.off.validators(withDefaults: true).validate(page)
        await #expect(throws: Refused.self) {
            try await Validation.off.adding(Validator { _, _, _ in throw Refused() })
                .validators(withDefaults: false).validate(page)
        }
    }

    @Test func aCheckSeesRequestResponseAndBody() async throws {
        let answer = Answer.test(201, type: "a/b", body: Data("hello".utf8), method: .put)
        await confirmation { isCalled in
            let check = Validator { request, response, body in
                #expect(request.method == .put)
                #expect(response.status.code == 201)
                #expect(body == Data("hello".utf8))
                isCalled()
            }
            await #expect(throws: Never.self) { try await check.check(answer) }
        }
    }

    // MARK: Errors

    private func error(_ validator: Validator, _ answer: Answer) async -> TrellisError? {
        await #expect(throws: TrellisError.self) { try await validator.check(answer) }
    }

    @Test func theErrorSaysWhatTheServerSaid() async throws {
        let error = await error(.successfulStatus, .test(503, text: "Down for\r\n maintenance\u{1B}[31m until noon"))
        #expect(error?.response?.status.code == 503)
        #expect(error?.bodyExcerpt?.data == Data("Down for\r\n maintenance\u{1B}[31m until noon".utf8))
        #expect(error?.phase == .received)
        #expect(
            error?.description
                == "GET http://a.example/: the status 503 (Service Unavailable) is not accepted; "
                + "the body: Down for maintenance[31m until noon")
    }

    @Test func theErrorSaysWhatWouldHaveBeenAccepted() async throws {
        let validator = Validator.contentType(["application/json", "image/*", "text/html;q=0"])
        let html = await error(validator, .test(type: "text/html", body: Data("<p>".utf8)))
        #expect(
            html?.reason
                == .validationFailed(.contentType("text/html", acceptable: ["application/json", "image/*"])))
        #expect(
            html?.description
                == "GET http://a.example/: the content type text/html is not accepted, only application/json, image/*; "
                + "the body: <p>")
        let none = await error(validator, .test(body: Data([0, 255])))
        #expect(
            none?.description
                == "GET http://a.example/: a response without a content type is not accepted, only application/json, image/*"
        )
    }

    @Test(arguments: [
        (408, true), (429, true), (500, true), (502, true), (503, true), (504, true), (400, false), (404, false),
        (501, false), (301, false),
    ])
    func statusesOfTheMomentAreRetryable(_ status: Int, _ isRetryable: Bool) async {
        #expect(await error(.successfulStatus, .test(status))?.isRetryable == isRetryable)
        #expect(await error(.successfulStatus, .test(status, method: .post))?.isRetryable == false)
    }
}
