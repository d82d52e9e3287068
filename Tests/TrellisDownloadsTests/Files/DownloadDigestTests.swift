import Foundation
import HTTPTypes
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore
@testable import TrellisDownloads

/// The digests of a server that apply to the file of a download, and the digests that do not.
@Suite(.timeLimit(.minutes(3)))
struct DownloadDigestTests {
    /// A digest that no file of these tests has.
    private static let wrong = "sha-256=:\(Data(repeating: 7, count: 32).base64EncodedString()):"
    private let world: ScriptedDownload

    init() throws { world = try ScriptedDownload() }

    private func fields(_ name: String) throws -> HTTPFields {
        let name = try #require(HTTPField.Name(name))
        return [name: Self.wrong]
    }

    /// Starts a download of the part that the caller asks for, and sends that part.
    private func downloadPart(_ headers: HTTPFields = [:], trailers: HTTPFields = [:]) async throws -> DownloadRequest {
        let download = world.session.downloadRequest(
            ScriptedDownload.url, to: .file(world.path), headers: [.range: "bytes=2-4"])
        download.resume()
        let attempt = try await world.transport.nextAttempt()
        var fields: HTTPFields = [.contentRange: "bytes 2-4/10"]
        fields.append(contentsOf: headers)
        attempt.connect()
        attempt.receiveHead(status: 206, headers: fields)
        attempt.receiveBody("234")
        attempt.end(trailers: trailers)
        return download
    }

    /// A part is no file, unless the caller asks for a part.
    @Test(arguments: [(206, "bytes 2-4/10"), (200, "bytes 2-4/10"), (206, "")])
    func anUnaskedPartIsNoFile(_ status: Int, _ range: String) async throws {
        for method in [HTTPRequest.Method.get, .post] {
            let download = world.session.downloadRequest(
                Request(ScriptedDownload.url, method: method), to: .file(world.path))
            download.resume()
            let attempt = try await world.transport.nextAttempt()
            attempt.connect()
            attempt.receiveHead(status: status, headers: range.isEmpty ? [:] : [.contentRange: range])
            attempt.receiveBody("234")
            attempt.end()
            let error = await #expect(throws: TrellisError.self) { try await download.value }
            #expect(error?.description.contains("it is a part that nobody asked for") == true)
            #expect(world.folder.names == [])
        }
    }

    /// The digest of the complete representation is not that of the part that the caller asks for.
    @Test(arguments: [true, false]) func aPartOfTheCallersIsNotTheRepresentation(_ isTrailer: Bool) async throws {
        let digest = try fields("Repr-Digest")
        let download = try await downloadPart(isTrailer ? [:] : digest, trailers: isTrailer ? digest : [:])
        #expect(try await download.value.size == 3)
        #expect(world.file == Data("234".utf8))
    }

    @Test(arguments: [true, false]) func aPartOfTheCallersIsTheContent(_ isTrailer: Bool) async throws {
        let digest = try fields("Content-Digest")
        let download = try await downloadPart(isTrailer ? [:] : digest, trailers: isTrailer ? digest : [:])
        let error = await #expect(throws: TrellisError.self) { try await download.value }
        #expect(error?.kind == .checksumMismatch && world.folder.names == [])
    }

    /// The digests of a response without content are about the response to a `GET`.
    @Test(arguments: ["Repr-Digest", "Content-Digest"])
    func aResponseToHeadHasNoDigestOfItsContent(_ name: String) async throws {
        var request = Request(ScriptedDownload.url)
        request.method = .head
        let download = world.session.downloadRequest(request, to: .file(world.path))
        download.resume()
        let attempt = try await world.transport.nextAttempt()
        attempt.connect()
        attempt.receiveHead(headers: try fields(name))
        attempt.end()
        #expect(try await download.value.size == 0)
    }

    @Test(arguments: ["Repr-Digest", "Content-Digest"])
    func aNotModifiedResponseHasNoDigestOfItsContent(_ name: String) async throws {
        let download = world.download()
        download.validate(statusCode: [304]).resume()
        let attempt = try await world.transport.nextAttempt()
        attempt.connect()
        attempt.receiveHead(status: 304, headers: try fields(name))
        attempt.end()
        #expect(try await download.value.size == 0)
    }
}
