import ArgumentParser
import Trellis
import TrellisSignatures

/// How the request is signed.
struct SigningOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Sign with AWS Signature Version 4, with --user KEY:SECRET. The region and the service follow from the host's name "
                + "unless they are given. -H 'X-Amz-Security-Token: …' is the token of a session, and "
                + "-H 'X-Amz-Content-SHA256: UNSIGNED-PAYLOAD' leaves the body unsigned.",
            valueName: "aws[:amz[:REGION[:SERVICE]]]"),
        transform: AWSArgument.init)
    var awsSigv4: AWSArgument?

    @Option(
        help: ArgumentHelp(
            "Sign with an HTTP message signature (RFC 9421) and this key in PEM; for hmac-sha256 the file is the secret. The "
                + "signature covers @method and @target-uri unless others are given, and the body by its digest.",
            valueName: "FILE[;id=KEYID][;alg=NAME][;cover=@method,date,…]"),
        transform: SignArgument.init)
    var sign: SignArgument?

    /// Checks the options beside those about credentials.
    func validate(user: String?, auth: AuthenticationOption?) throws {
        guard awsSigv4 != nil else { return }
        guard user != nil else { throw ValidationError("--aws-sigv4 goes with --user KEY:SECRET.") }
        guard auth == nil else { throw ValidationError("--aws-sigv4 and --auth do not go together.") }
    }
}

/// The argument of `--aws-sigv4`.
struct AWSArgument: Sendable {
    /// The argument as written.
    let text: String
    private let region: String?
    private let service: String?

    init(_ argument: String) throws {
        let parts = argument.split(separator: ":", omittingEmptySubsequences: false).map { String($0) }
        guard parts[0].lowercasedASCII() == "aws", parts.count < 2 || parts[1].lowercasedASCII() == "amz",
            parts.count <= 4,
            parts.allSatisfy({ !$0.isEmpty })
        else { throw ValidationError("it is not aws:amz:REGION:SERVICE") }
        text = argument
        region = parts.count > 2 ? parts[2] : nil
        service = parts.count > 3 ? parts[3] : nil
    }

    /// Returns the region and the service. A name of AWS such as `s3.eu-central-1.amazonaws.com` has both.
    func scope(of url: String) throws -> (region: String, service: String) {
        let labels = (URL(string: url)?.host ?? "").split(separator: ".").map { String($0) }
        guard let service = service ?? (labels.count > 2 ? labels[0] : nil),
            let region = region ?? (labels.count > 2 ? labels[1] : nil)
        else { throw RequestFailure("invalid_request", "--aws-sigv4: the host does not name a service and a region") }
        return (region, service)
    }
}

/// The argument of `--sign`.
struct SignArgument: Sendable {
    /// The file of the key.
    let path: String
    private var values: [String: String] = [:]

    init(_ argument: String) throws {
        let parts = argument.split(separator: ";", omittingEmptySubsequences: false).map { String($0) }
        path = parts[0]
        for part in parts.dropFirst() {
            guard let pair = part[...].cut(at: "="), ["id", "alg", "cover"].contains(String(pair.before)),
                !pair.after.isEmpty, values[String(pair.before)] == nil
            else { throw ValidationError("'\(part)' is not id=, alg= or cover=, or is given twice") }
            values[String(pair.before)] = String(pair.after)
        }
        guard !path.isEmpty else { throw ValidationError("no file of a key is named") }
        if let name = values["alg"], SignatureAlgorithm(rawValue: name) == nil {
            let known = SignatureAlgorithm.allCases.map(\.rawValue).joined(separator: ", ")
            throw ValidationError("the algorithm \(name) is not known: \(known)")
        }
    }

    /// Returns the signer with the key in the file.
    func signer() async throws -> MessageSigner {
        let path = path
        let contents: [UInt8]
        do {
            contents = try await offThePool { [UInt8](try Data(contentsOf: URL(fileURLWithPath: path))) }
        } catch {
            throw RequestFailure("file", "--sign: the file \(path) cannot be read")
        }
        let algorithm = values["alg"].flatMap { SignatureAlgorithm(rawValue: $0) }
        let key =
            algorithm == .hmacSHA256
            ? SignatureKey.hmac(contents, id: values["id"])
            : try SignatureKey.pem(String(decoding: contents, as: UTF8.self), id: values["id"], algorithm: algorithm)
        guard let covered = values["cover"] else { return MessageSigner(key: key) }
        let components = covered.split(separator: ",").map { SignatureComponent.field(String($0)) }
        return MessageSigner(key: key, components: components)
    }
}

extension Options {
    /// Returns the signers of `--sign` and `--aws-sigv4`.
    func signers() async throws -> [any RequestSigner] {
        var signers: [any RequestSigner] = []
        if let aws = signing.awsSigv4, let user = credentials.user {
            let parts = user[...].cut(at: ":")
            let key = AWSCredentials(
                accessKeyID: String(parts?.before ?? user[...]), secretAccessKey: String(parts?.after ?? ""))
            let (region, service) = try aws.scope(of: url)
            var signer = AWSSigner(region: region, service: service) { key }
            let payload = headers.first { $0.name.lowercasedASCII() == "x-amz-content-sha256" }?.value
            if payload == "UNSIGNED-PAYLOAD" { signer.payload = .unsigned }
            signers.append(signer)
        }
        // Last: the signature covers the field Authorization as it is sent.
        if let sign = signing.sign { signers.append(try await sign.signer()) }
        return signers
    }
}
