import Trellis

struct Show: Decodable, Sendable {
    struct Slideshow: Decodable, Sendable { var title: String, author: String }
    var slideshow: Slideshow
}
struct Order: Codable, Sendable { var item: String, count: Int }
struct Echo: Decodable, Sendable { var json: Order }

func getStarted() async throws {
    let session = Session()

    let show = try await session.decode(Show.self, from: "http://localhost:5000/json")
    print(show.slideshow.title, "by", show.slideshow.author)

    let (data, response) = try await session.data("http://localhost:5000/status/404")
    print(response.status, data.count)
    print(response.metrics)

    let order = try Request("http://localhost:5000/post", method: .post, body: .json(Order(item: "tea", count: 2)))
    let echo = try await session.decode(Echo.self, from: order)
    print(echo.json.item, echo.json.count)

    for try await line in try await session.stream("http://localhost:5000/stream/3").validate().lines {
        print(line.prefix(60))
    }

    let download = session.downloadRequest(
        "http://localhost:5000/range/102400?duration=1", to: .file("big.bin", .removePreviousFile))
    for await progress in download.progress { print(progress.fraction ?? 0) }
    let file = try await download.value
    print(file.path, file.size)

    do {
        _ = try await session.data("http://localhost:5000/delay/3", timeout: .seconds(1))
    } catch let error as TrellisError {
        print(error)
        print(error.isTimeout, error.mayHaveSentBytes)
    }
}
