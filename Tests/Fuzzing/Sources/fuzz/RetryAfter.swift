@testable import TrellisCore

/// Checks that any text of a server gives no delay or a finite one, and no date or one that can be used in calculations.
func fuzzRetryAfter(_ input: FuzzInput) {
    let text = String(decoding: input.body, as: UTF8.self)
    let now = HTTPDate(secondsSince1970: Int64(input.choice) << 24)
    if let date = HTTPDate(text, now: now) {
        precondition((-1...10_000).contains(date.year), "a year of more than four digits")
        precondition(HTTPDate(text.uppercased(), now: now) == date, "another date in capitals")
    }
    if let delay = RetryAfter.delay(of: text, now: now) {
        precondition(delay >= .zero && delay < .seconds((1 << 42) + 1), "a delay without an end")
    }
}
