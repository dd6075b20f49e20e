import OAuthWire
import StrictCoding

/// The claims of a token, read and not verified: for showing them.
enum TokenClaims {
    static func read(_ token: Credential) -> JSONObject? {
        let segments = token.secret.split(separator: ".", omittingEmptySubsequences: false)
        guard segments.count == 3, let payload = Base64URL.decode(segments[1].utf8) else { return nil }
        return (try? JSONReader.parse(payload))?.object
    }

    /// A time in a token, in seconds since 1970.
    static func time(_ claim: String, of token: Credential) throws(StepFailure) -> Int64 {
        guard let seconds = read(token)?.number(claim)?.wholeSeconds else {
            throw StepFailure("the token has no \(claim)")
        }
        return seconds
    }
}
