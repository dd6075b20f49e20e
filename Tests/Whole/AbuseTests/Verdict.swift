/// The expected outcome of a request.
enum Verdict: Sendable {
    case granted
    case refused(status: Int, error: String, reason: String)

    /// Wrong form or cryptography: RFC 6749 §5.2, RFC 8693 §2.2.2.
    static func malformed(_ reason: String) -> Verdict {
        .refused(status: 400, error: "invalid_request", reason: reason)
    }

    /// Wrong state, binding or relationship: the same answer for all, octet for octet.
    static func unusable(_ reason: String) -> Verdict { .refused(status: 400, error: "invalid_grant", reason: reason) }

    static func scope(_ reason: String) -> Verdict { .refused(status: 400, error: "invalid_scope", reason: reason) }

    static func target(_ reason: String) -> Verdict { .refused(status: 400, error: "invalid_target", reason: reason) }

    /// The client named itself in the body.
    static func client(_ reason: String) -> Verdict { .refused(status: 400, error: "invalid_client", reason: reason) }

    /// RFC 9449 §5.
    static func proof(_ reason: String) -> Verdict {
        .refused(status: 400, error: "invalid_dpop_proof", reason: reason)
    }

    /// The client used the `Authorization` header.
    static func challenged(_ reason: String) -> Verdict {
        .refused(status: 401, error: "invalid_client", reason: reason)
    }

    var isRefusal: Bool {
        if case .refused = self { true } else { false }
    }

    /// The broker only logs messages that never became a request to the token endpoint. It audits every other outcome.
    var isAudited: Bool {
        guard case .refused(_, _, let reason) = self else { return true }
        return !Self.noise.contains(reason)
    }

    /// Whether the request may also be answered "not known yet": its token has a `kid` that the identity provider does not have, and
    /// many such came before it.
    var mayBeUndecided: Bool {
        guard case .refused(_, _, let reason) = self else { return false }
        return Self.mayBeUndecided(insteadOf: reason)
    }

    static func mayBeUndecided(insteadOf reason: String) -> Bool {
        ["subject", "logout", "event"].contains { reason == "\($0)_token_unknown_key" }
    }

    /// Whether the message's framing is wrong.
    var isOfFraming: Bool {
        guard case .refused(_, _, let reason) = self else { return false }
        return ["http_malformed", "http_transfer_coding"].contains(reason)
    }

    /// Whether it depends on the message, the form and the client alone, and not on what the token endpoint grants.
    var isOfEveryEndpoint: Bool {
        guard case .refused(_, _, let reason) = self else { return true }
        return ["http_", "form_", "client_"].contains(where: reason.hasPrefix)
    }

    private static let noise: Set = [
        "http_malformed", "http_host", "http_target_form", "http_transfer_coding", "http_trailers",
        "http_chunk_extension", "http_expectation", "http_header_too_large", "http_body_too_large",
        "http_header_timeout", "http_body_timeout", "http_unknown_path", "http_method", "http_method_unknown",
        "http_target_too_long",
    ]
}
