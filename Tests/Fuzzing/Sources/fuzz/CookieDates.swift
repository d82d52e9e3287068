import FoundationEssentials

@testable import TrellisCore

private let months = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(separator: " ")

/// Checks that parsed dates are those of the calendar, and that the characters around a date do not change the date.
func fuzzCookieDates(_ input: FuzzInput) {
    let date = CookieDate.date(input.body)
    precondition(CookieDate.date(Array(" ,;-".utf8) + input.body + Array("\t~".utf8)) == date, "delimiters count")
    precondition(CookieDate.date(Array("xyz ".utf8) + input.body) == date, "a word counts")
    guard let date else { return }
    let parts = date.formatted(.iso8601).split { "-TZ".contains($0) }
    let text = "\(parts[2]) \(months[(Int(parts[1]) ?? 1) - 1]) \(parts[0]) \(parts[3])"
    precondition(CookieDate.date(Array(text.utf8)) == date, "no day of the calendar: \(text)")
    precondition(date.timeIntervalSince1970 >= -11_644_473_600, "before 1601")
    precondition(date.timeIntervalSince1970 < 253_402_300_800, "after 9999")
}
