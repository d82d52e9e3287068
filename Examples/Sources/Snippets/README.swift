import Trellis

/// The example of the README, whose type has a name that other pages use too.
struct FrontPage {
    struct Show: Decodable, Sendable {
        struct Slideshow: Decodable, Sendable { var title: String }
        var slideshow: Slideshow
    }

    func show() async throws {
        var configuration = SessionConfiguration()
        configuration.baseURL = "https://httpbin.org/"
        configuration.retry = RetryPolicy()
        configuration.eventMonitors = [RequestLog()]
        let session = Session(configuration: configuration)

        let show = try await session.decode(Show.self, from: "json")  // an error page is an error, not a Show
        for try await line in try await session.stream("stream/3").validate().lines { print(line) }
        let file = try await session.download("range/102400", to: .file("big.bin"))  // all of it, or an error
        print(show.slideshow.title, file.size)
    }
}
