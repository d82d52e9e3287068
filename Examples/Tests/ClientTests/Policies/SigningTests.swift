import Foundation
import Testing

/// `--aws-sigv4` and `--sign`. `/request` describes the request that has arrived.
@Suite(.timeLimit(.minutes(60))) struct SigningTests {
    private static let aws = ["--aws-sigv4", "aws:amz:us-east-1:s3"]
    private static let key = """
        -----BEGIN PRIVATE KEY-----
        MC4CAQAwBQYDK2VwBCIEIJ+DYvh6SEqVTm50DFtMDoQikTmiCqirVv9mWG9qfSnF
        -----END PRIVATE KEY-----
        """

    @Test func aRequestIsSignedAsForAWS() async throws {
        let run = try await client(["\(url)/request", "--user", "id:secret"] + Self.aws)
        let fields = run.lines.starting(with: "Authorization")
        #expect(fields.count == 1)
        #expect(fields.first?.hasPrefix("Authorization: AWS4-HMAC-SHA256 Credential=id/") == true)
        #expect(
            fields.first?.contains("/us-east-1/s3/aws4_request, SignedHeaders=host;x-amz-content-sha256;x-amz-date,")
                == true)
        #expect(!run.text.contains("secret"))
    }

    @Test func theTokenOfASessionIsSigned() async throws {
        let run = try await client(
            [
                "\(url)/request", "--user", "id:secret", "-H", "X-Amz-Security-Token: token",
            ] + Self.aws)
        #expect(run.lines.starting(with: "Authorization").first?.contains("x-amz-security-token") == true)
    }

    @Test func aRequestIsSignedWithAKey() async throws {
        let folder = try TemporaryFolder()
        try folder.write(Self.key, to: "key.pem")
        let path = folder["key.pem"]
        let run = try await client(["\(url)/request", "--sign", "\(path);id=me;cover=@method,host"])
        #expect(run.status != 0 && run.errors.contains("sign @authority"))
        let signed = try await client(["\(url)/request", "--sign", "\(path);id=me;cover=@method,@authority"])
        let inputs = signed.lines.starting(with: "Signature-Input")
        #expect(inputs.first?.hasPrefix("Signature-Input: sig1=(\"@method\" \"@authority\");created=") == true)
        #expect(inputs.first?.hasSuffix(";keyid=\"me\"") == true)
        #expect(signed.lines.starting(with: "Signature: sig1=:").count == 1)
    }

    /// The last signature covers what the other one has changed.
    @Test func bothSignaturesStandSideBySide() async throws {
        let folder = try TemporaryFolder()
        try folder.write(Self.key, to: "key.pem")
        let options = ["--user", "id:secret", "--sign", folder["key.pem"]] + Self.aws
        let run = try await client(["\(url)/request"] + options)
        #expect(run.lines.starting(with: "Signature-Input").first?.contains("\"authorization\"") == true)
        #expect(run.lines.starting(with: "Authorization: AWS4-HMAC-SHA256").count == 1)
    }

    @Test(arguments: [
        ["--aws-sigv4", "aws:amz:r:s"], ["--aws-sigv4", "osc:osc:r:s", "--user", "a:b"],
        ["--aws-sigv4", "aws:amz:r:s", "--user", "a:b", "--auth", "digest"], ["--sign", ";id=a"], ["--sign", "f;x=y"],
        ["--sign", "f;alg=md5"],
    ])
    func whatIsNoSignatureIsWrongUsage(options: [String]) async throws {
        #expect(try await client(["\(url)/request"] + options).status == 64)
    }

    @Test func aFileWithoutAKeyIsAnError() async throws {
        let run = try await client(["\(url)/request", "--sign", "/dev/null"])
        #expect(run.status != 0)
        #expect(try await client(["\(url)/request", "--sign", "/nonexistent/key.pem"]).status != 0)
    }
}
