import CurlEngine

/// The readers of a response, with a function that is called with its head.
final class HeadReader: HeadValidator {
    /// The function until the head has come. What it retains is released then.
    private let onHead: Locked<(@Sendable (ResponseHead) -> Void)?>
    private let readers: (any HeadValidator)?

    init(_ onHead: @escaping @Sendable (ResponseHead) -> Void, _ readers: (any HeadValidator)?) {
        self.onHead = Locked(onHead)
        self.readers = readers
    }

    func refuses(_ head: ResponseHead, of request: Request) -> Bool { readers?.refuses(head, of: request) ?? false }

    func didReceive(_ head: ResponseHead) { onHead.withLock { $0.take() }?(head) }
}
