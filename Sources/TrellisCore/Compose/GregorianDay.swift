/// A day of the Gregorian calendar, also before the calendar began.
struct GregorianDay: Equatable {
    let year: Int
    let month: Int
    let day: Int

    private init(year: Int, month: Int, day: Int) { (self.year, self.month, self.day) = (year, month, day) }

    /// Creates the day that follows 1 January 1970 by a number of days, which may be negative.
    init(daysSince1970 days: Int) {
        // Years that begin in March have their leap day at the end. 400 of them have 146,097 days, and five months in a row 153.
        let sinceMarch = days + 719_468
        let cycle = (sinceMarch >= 0 ? sinceMarch : sinceMarch - 146_096) / 146_097
        let dayOfCycle = sinceMarch - 146_097 * cycle
        let yearOfCycle = (dayOfCycle - dayOfCycle / 1460 + dayOfCycle / 36_524 - dayOfCycle / 146_096) / 365
        let dayOfYear = dayOfCycle - (365 * yearOfCycle + yearOfCycle / 4 - yearOfCycle / 100)
        let month = (5 * dayOfYear + 2) / 153
        year = 400 * cycle + yearOfCycle + (month < 10 ? 0 : 1)
        self.month = month < 10 ? month + 3 : month - 9
        day = dayOfYear - (153 * month + 2) / 5 + 1
    }

    /// The number of days since 1 January 1970.
    private var daysSince1970: Int {
        let shifted = month > 2 ? year : year - 1
        let cycle = (shifted >= 0 ? shifted : shifted - 399) / 400
        let yearOfCycle = shifted - 400 * cycle
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return 146_097 * cycle + 365 * yearOfCycle + yearOfCycle / 4 - yearOfCycle / 100 + dayOfYear - 719_468
    }

    /// Returns the seconds from 1970 to a second of a day, if there is such a day and second. A leap second counts as the second after it.
    static func secondsSince1970(
        year: Int, month: Int, day: Int, hour: Int, minute: Int, second: Int
    ) -> Int? {
        guard 1...12 ~= month, 1...31 ~= day, 0...23 ~= hour, 0...59 ~= minute, 0...60 ~= second else { return nil }
        let date = GregorianDay(year: year, month: month, day: day)
        let days = date.daysSince1970
        // A day that its month does not have is one of the next month.
        guard day <= 28 || GregorianDay(daysSince1970: days) == date else { return nil }
        return days * 86_400 + hour * 3600 + minute * 60 + second
    }
}
