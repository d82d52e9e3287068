import FoundationEssentials
import Testing

@testable import TrellisCore

/// The bodies in the descriptions of errors, which have no secrets.
struct ExcerptRedactionTests {
    @Test(
        arguments: [
            ("application/json", #"{"token":"s3cret","message":"no"}"#, #"{"token":"REDACTED","message":"no"}"#),
            // Secrets may be numbers, and numbers may be about secrets.
            (
                "application/json", #"{"password":123456,"otp":"99","card":{"cvv":[123]},"usage":{"prompt_tokens":7}}"#,
                #"{"password":0,"otp":"REDACTED","card":{"cvv":[0]},"usage":{"prompt_tokens":7}}"#
            ),
            (
                "application/json", #"{"accessToken":42,"token_expires_in":3600,"user-pin":1,"spin":2,"tokenType":3}"#,
                #"{"accessToken":0,"token_expires_in":3600,"user-pin":0,"spin":2,"tokenType":3}"#
            ),
            // Cut within the secret.
            ("application/problem+json", #"{"a":"no","password":"s3cre"#, #"{"a":"no","password":"REDACTED""#),
            ("", #" {"a":{"api_key":["s3cret"]}}"#, #"{"a":{"api_key":["REDACTED"]}}"#),
            ("application/x-www-form-urlencoded", "user=ada&password=s3cret", "user=ada&password=REDACTED"),
            ("", "user=ada&password=s3cret", "user=ada&password=REDACTED"),
            // The part behind the first byte that is no JSON may have secrets too.
            ("application/json", #"{"n":NaN,"token":"s3cret"}"#, #"{"n":…"#),
            ("application/json", #")]}',{"token":"s3cret"}"#, "…"),
            // Text that is no JSON although its type says so may be the reason of the failure.
            ("application/json", "<p>Down for maintenance</p>", "<p>Down for maintenance</p>"),
            ("text/plain", "[1] no token", "[1] no token"),
            (
                "multipart/form-data; boundary=B",
                "--B\r\nContent-Disposition: form-data; name=\"password\"\r\n\r\ns3cret\r\n--B--\r\n",
                "--B Content-Disposition: form-data; name=\"password\" REDACTED --B--"
            ),
            ("multipart/form-data; boundary=B", "password=s3cret", "…"),
        ] as [(String, String, String)])
    func theDescriptionHasNoSecrets(_ type: String, _ body: String, _ shown: String) {
        let answer = Answer.test(401, type: type.isEmpty ? nil : type, body: Data(body.utf8))
        let error = answer.error(.validationFailed(.status(401)))
        #expect(
            error.description
                == "GET http://a.example/: the status 401 (Unauthorized) is not accepted; the body: \(shown)")
        #expect(error.bodyExcerpt?.text == body)
    }
}
