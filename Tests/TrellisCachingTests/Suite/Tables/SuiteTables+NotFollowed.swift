extension SuiteTables {
    /// The reasons why cases are not followed, by their identifiers, or by their identifiers with the kind of the cache. The opposite of
    /// their expectations is tested.
    static let notFollowed: [String: String] = [
        // MARK: Requirements of the suite

        "cc-resp-immutable-stale":
            "A validation adds no max-age=0: a rule of Fetch, not of RFC 9111, section 4.3.1.",

        // MARK: Optional in the suite

        "conditional-lm-fresh-no-lm":
            "Without Last-Modified, the condition is compared with Date, which is later (RFC 9111, section 4.3.2).",
        "vary-normalise-lang-select":
            "The cache does not choose among languages in place of the origin (RFC 9111, section 4.1).",
        "vary-normalise-lang-order":
            "To some servers, the order of languages is one of preference (RFC 9110, section 12.5.4).",
        "partial-store-partial-reuse-partial": partOfAnotherLength,
        "partial-store-partial-reuse-partial-byterange": partOfAnotherLength,
        "partial-store-partial-reuse-partial-absent": partOfAnotherLength,
        "partial-store-partial-reuse-partial-suffix": partOfAnotherLength,
        "partial-store-partial-complete":
            "Parts are not put together (RFC 9111, section 3.4, allows it).",

        "other-cookie (private)":
            "The caller's own Cookie separates what the cache of one user stores, as any other secret of a request does.",

        // MARK: Informative in the suite

        "age-parse-parameter": "An Age that is no number is ignored (RFC 9111, section 5.1).",
        "age-parse-numeric-parameter": "An Age that is no number is ignored (RFC 9111, section 5.1).",
        "ccreq-no-store":
            "The directive forbids storing, not the use of a stored response (RFC 9111, section 5.2.1.5).",
        "headers-omit-headers-listed-in-Cache-Control-no-cache-single":
            "no-cache with names counts as without them (RFC 9111, section 5.2.2.4).",
        "headers-omit-headers-listed-in-Cache-Control-no-cache":
            "no-cache with names counts as without them (RFC 9111, section 5.2.2.4).",
        "conditional-etag-strong-respond-obs-text":
            "A tag that is not UTF-8 is compared by the origin alone (RFC 9110, section 8.8.3 allows such tags).",
        "conditional-etag-quoted-respond-unquoted": "The quotation marks belong to a tag (RFC 9110, section 8.8.3).",
        "conditional-etag-unquoted-respond-quoted": "The quotation marks belong to a tag (RFC 9110, section 8.8.3).",
        "conditional-etag-strong-generate-unquoted": "A tag is sent as it was received (RFC 9111, section 4.3.1).",
        "conditional-etag-forward-unquoted": "The caller's condition is sent as it is (RFC 9111, section 4.3.1).",
        "heuristic-delta-5": "The tenth of the time is less than the pause (RFC 9111, section 4.2.2).",
        "heuristic-delta-10": "The tenth of the time is less than the pause (RFC 9111, section 4.2.2).",
        "heuristic-delta-30": "The tenth of the time is just the pause (RFC 9111, section 4.2.2).",
        "other-age-delay": "Age is for stored responses; this one comes from the origin (RFC 9111, section 5.1).",
        "pragma-request-no-cache": "Pragma counts where there is no Cache-Control (RFC 9111, section 5.4).",
        "stale-close": "A failure needs stale-if-error (RFC 9111, section 4.2.4; RFC 5861, section 4).",
        "stale-503": "A failure needs stale-if-error (RFC 9111, section 4.2.4; RFC 5861, section 4).",
        "stale-warning-stored": "The field Warning is obsolete (RFC 9111, section 5.5).",
        "stale-warning-become": "The field Warning is obsolete (RFC 9111, section 5.5).",
        "stale-if-error-cc-request":
            "A response that is stale from the beginning and has no validator is not stored (RFC 9111, section 3).",
        "head-200-retain": "The response to the HEAD is the origin's (RFC 9111, section 4.3.5).",
        "head-410-update": "A HEAD updates a stored response with a 200 alone (RFC 9111, section 4.3.5).",
        "304-etag-update-response-Content-Encoding": "The field describes the stored body (RFC 9111, section 3.2).",
        "304-etag-update-response-Content-Range": "The field describes the stored body (RFC 9111, section 3.2).",
        "304-etag-update-response-Content-Type": "The field describes the stored body (RFC 9111, section 3.2).",
        "304-etag-update-response-ETag":
            "A 304 with another strong tag is about no stored response (RFC 9111, section 4.3.4).",
        "304-etag-update-response-Set-Cookie (shared)":
            "The cookie of one user's validation is not stored for others (RFC 9111, section 7.3).",
    ]

    private static let partOfAnotherLength =
        "The part has five bytes, and its range six: its bytes may be in other places (RFC 9110, section 14.4)."
}
