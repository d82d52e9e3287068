import CCurl

/// Keeps HTTP/2 uploads going on versions of libcurl that forget them.
///
/// Before 8.2, libcurl can read the peer's frames while it sends, and then waits for a socket on which nothing more comes;
/// or it gives up half-way through the end of a pause. The transfer would hang until its time limit. A look at it, now and
/// then, makes it go on.
final class Nudger: EngineTimerTarget {
    static let interval = Duration.milliseconds(50)

    private unowned let engine: CurlEngine
    private var timer: EngineTimer?

    init(engine: CurlEngine) { self.engine = engine }

    /// Whether the transfer is one of those that may be forgotten.
    static func mustWatch(_ options: TransferOptions) -> Bool {
        guard case .stream = options.body, LibcurlFeatures.current.forgetsUploads else { return false }
        return options.version == .http2PriorKnowledge
            || options.version == .http2OverTLS && options.url.scheme == "https"
    }

    /// Sees to it that transfers are looked at from now on, as long as there are any.
    func start(on loop: EventLoop) {
        guard timer == nil else { return }
        let timer = EngineTimer(self)
        self.timer = timer
        loop.set(timer, at: loop.now.advanced(by: Self.interval))
    }

    func timerIsDue() {
        timer = nil
        engine.nudge()
    }
}
