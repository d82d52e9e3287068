import Testing

@testable import TrellisCore

/// The languages that an environment sets.
struct AcceptLanguageTests {
    @Test(
        arguments: [
            ([:], nil), (["LANG": ""], nil), (["LANG": "C"], nil), (["LANG": "C.UTF-8"], nil), (["LANG": "POSIX"], nil),
            (["LANGUAGE": "de"], nil), (["LANGUAGE": "de", "LANG": "C"], nil),
            (["LANG": "de_AT.UTF-8"], "de-AT"), (["LANG": "en"], "en"), (["LANG": "fil_PH"], "fil-PH"),
            (["LANG": "de_DE", "LC_MESSAGES": "fr_FR"], "fr-FR"),
            (["LANG": "de_DE", "LC_MESSAGES": "fr_FR", "LC_ALL": "it_IT"], "it-IT"),
            (["LANG": "de_DE", "LC_MESSAGES": "", "LC_ALL": ""], "de-DE"), (["LANG": "de_DE", "LC_ALL": "C"], nil),
            (["LANG": "de_AT.UTF-8", "LANGUAGE": "de_AT:de:en"], "de-AT, de;q=0.9, en;q=0.8"),
            (["LANG": "de_AT.UTF-8", "LANGUAGE": "en"], "en, de-AT;q=0.9"),
            (["LANG": "de", "LANGUAGE": "::C:de::not a language:"], "de"),
            (
                ["LANG": "x", "LC_ALL": "aa", "LANGUAGE": "bb:cc:dd:ee:ff:gg:hh"],
                "bb, cc;q=0.9, dd;q=0.8, ee;q=0.7, ff;q=0.6, gg;q=0.5"
            ),
        ] as [([String: String], String?)])
    func environments(_ environment: [String: String], _ value: String?) {
        #expect(AcceptLanguage.value(environment: environment) == value)
    }

    @Test(
        arguments: [
            ("de_DE.ISO-8859-15@euro", "de-DE"), ("sr_RS@latin", "sr-Latn-RS"), ("sr_RS.UTF-8@latin", "sr-Latn-RS"),
            ("uz_UZ@cyrillic", "uz-Cyrl-UZ"), ("ca_ES@valencia", "ca-ES-valencia"), ("zh-hant-tw", "zh-Hant-TW"),
            ("es_419", "es-419"), ("DE_de", "de-DE"), ("", nil), ("_DE", nil), ("d", nil), ("deutsch", nil),
            ("42", nil),
            ("e\u{301}n", nil), ("de\r\nX-A: 1", nil), ("de_D\r\nE", "de"), ("de.\r\n", "de"), ("@euro", nil),
            (".UTF-8", nil),
        ] as [(String, String?)])
    func tags(_ locale: String, _ tag: String?) {
        #expect(AcceptLanguage.tag(of: locale[...]) == tag)
    }
}
