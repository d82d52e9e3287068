import Foundation
import Trellis

/// The code of the article about uploads.
func uploadFilm(with session: Session) async throws {
    let (data, response) = try await session.upload(fileAt: "/tmp/film.mp4", to: "https://example.com/films")
    print(response.status.code, data.count)
}

func replaceFilm(with session: Session) async throws {
    let film = RequestBody.file("/tmp/film.mp4", contentType: "video/mp4")
    _ = try await session.upload(film, to: Request("https://example.com/films/7", method: .put))
}

func uploadPicture(with session: Session) async throws {
    let (reply, _) = try await session.upload(to: "https://example.com/pictures") { form in
        form.append("Ann", withName: "author")
        form.append(fileAt: "/tmp/rose.jpg", withName: "picture")
    }
    print(String(decoding: reply, as: UTF8.self))
}

func uploadTable(with session: Session) async throws {
    let table = RequestBody.stream(contentType: "text/csv") {  // called for each sending
        AsyncStream<Data> { continuation in
            for row in 1...3 { continuation.yield(Data("\(row)\n".utf8)) }
            continuation.finish()
        }
    }
    _ = try await session.upload(table, to: "https://example.com/tables")
}

func watchUpload(with session: Session) async throws {
    let upload = session.uploadRequest(fileAt: "/tmp/film.mp4", to: "https://example.com/films").validate()
    for await progress in upload.uploadProgress { print(progress.fraction ?? 0) }  // starts the request
    let response = try await upload.response(of: .data)
    print(await upload.state, response.status.code, response.value.count)
}

func uploadLog(_ log: String, with session: Session) async throws {
    var request = Request("https://example.com/logs", method: .post, body: .string(log))
    request.compression = .gzip
    request.expectContinueTimeout = .seconds(1)
    _ = try await session.data(request)
}
