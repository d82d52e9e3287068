import Testing

@testable import TrellisCore

struct GregorianDayTests {
    private static func seconds(_ day: GregorianDay) -> Int? {
        GregorianDay.secondsSince1970(year: day.year, month: day.month, day: day.day, hour: 0, minute: 0, second: 0)
    }

    /// The days of some centuries, before the year 0 included.
    @Test func eachDayIsFoundByItsNumber() {
        for number in stride(from: -800_000, to: 800_000, by: 73) {
            #expect(Self.seconds(GregorianDay(daysSince1970: number)) == number * 86_400)
        }
    }

    @Test(arguments: [
        (-719_528, 0, 1, 1), (-1, 1969, 12, 31), (0, 1970, 1, 1), (11_016, 2000, 2, 29), (20_515, 2026, 3, 3),
    ])
    func aDayHasItsDate(_ number: Int, _ year: Int, _ month: Int, _ dayOfMonth: Int) {
        let day = GregorianDay(daysSince1970: number)
        #expect(day.year == year && day.month == month && day.day == dayOfMonth)
    }

    @Test(arguments: [
        (2023, 2, 29), (1900, 2, 29), (2024, 2, 30), (2024, 4, 31), (2024, 0, 1), (2024, 13, 1), (2024, 1, 0),
    ])
    func aDayThatItsMonthDoesNotHaveIsNone(_ year: Int, _ month: Int, _ day: Int) {
        #expect(
            GregorianDay.secondsSince1970(year: year, month: month, day: day, hour: 0, minute: 0, second: 0) == nil)
    }

    @Test(arguments: [(24, 0, 0, nil), (0, 60, 0, nil), (0, 0, 61, nil), (23, 59, 60, 86_400)])
    func aSecondIsOneOfItsDay(_ hour: Int, _ minute: Int, _ second: Int, _ expected: Int?) {
        let seconds = GregorianDay.secondsSince1970(
            year: 1970, month: 1, day: 1, hour: hour, minute: minute, second: second)
        #expect(seconds == expected)
    }
}
