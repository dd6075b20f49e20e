import OAuthWire
import StrictCoding

/// The claims of a token, read and not verified: for showing them.
enum TokenClaims {
    static func read(_ token: Credential) -> JSONObject? {
        let segments = token.secret.split(separator: ".", omittingEmptySubsequences: false)
        guard segments.count == 3, let payload = Base64URL.decode(segments[1].utf8) else { return nil }
        return (try? JSONReader.parse(payload))?.object
    }
}
