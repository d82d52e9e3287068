import FoundationEssentials
import Testing

@testable import TrellisCore

/// Dates in forms in the format of RFC 3339.
struct TimestampTests {
    @Test(arguments: [
        (-62_167_219_200, "0000-01-01T00:00:00.000Z"), (-62_162_035_200, "0000-03-01T00:00:00.000Z"),
        (-62_135_596_800, "0001-01-01T00:00:00.000Z"), (-12_219_292_800.25, "1582-10-14T23:59:59.750Z"),
        (-2_203_891_200, "1900-03-01T00:00:00.000Z"), (-0.5, "1969-12-31T23:59:59.500Z"),
        (951_782_400, "2000-02-29T00:00:00.000Z"), (951_868_799.5, "2000-02-29T23:59:59.500Z"),
        (4_107_542_400, "2100-03-01T00:00:00.000Z"), (253_402_300_799.75, "9999-12-31T23:59:59.750Z"),
    ])
    func theCalendarIsTheGregorianOneAtAllTimes(_ seconds: Double, _ text: String) throws {
        let date = ["a": Date(timeIntervalSince1970: seconds)]
        let allowed = URLEncodedFormEncoder.AllowedCharacters.default.union(.init(":"))
        let exact = URLEncodedFormEncoder(dateEncoding: .iso8601WithFractionalSeconds, allowedCharacters: allowed)
        #expect(try exact.encode(date) == "a=\(text)")
        let whole = URLEncodedFormEncoder(dateEncoding: .iso8601, allowedCharacters: allowed)
        #expect(try whole.encode(date) == "a=\(text.prefix(19))Z")
    }

    @Test(arguments: [-62_167_219_200.5, 253_402_300_800, 1e19, -1e300, .infinity, -.infinity, .nan])
    func aYearThatHasNotFourDigitsIsAnError(_ seconds: Double) throws {
        for encoding in [DateEncoding.iso8601, .iso8601WithFractionalSeconds] {
            let encoder = URLEncodedFormEncoder(dateEncoding: encoding)
            let error = #expect(throws: EncodingError.self) {
                try encoder.encode(["a": Date(timeIntervalSince1970: seconds)])
            }
            guard case .invalidValue(_, let context)? = error else { continue }
            #expect(context.codingPath.map(\.stringValue) == ["a"])
        }
    }

    typealias DateEncoding = URLEncodedFormEncoder.DateEncoding

    @Test(arguments: [.deferredToDate, .secondsSince1970, .millisecondsSince1970] as [DateEncoding])
    func aDateThatIsNoNumberIsWrittenAsSuch(_ encoding: DateEncoding) throws {
        let seconds = -Double(nan: 0x36c5, signaling: false)
        let date = Date(timeIntervalSinceReferenceDate: seconds)
        #expect(try URLEncodedFormEncoder(dateEncoding: encoding).encode(["a": date, "b": date]) == "a=nan&b=nan")
    }
}
