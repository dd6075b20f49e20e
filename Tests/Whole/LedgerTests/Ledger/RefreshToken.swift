import StrictCoding

/// A refresh token and its generation. The token is opaque to apps. The ledger knows its format:
/// `nsr1.` base64url(key id 1, grant id 16, generation 4, tag 32).
struct RefreshToken: Hashable, Sendable {
    let text: String
    /// The grant's id, as PostgreSQL writes a `uuid`.
    let grant: String
    let generation: Int

    init(text: String, grant: String, generation: Int) {
        self.text = text
        self.grant = grant
        self.generation = generation
    }

    /// `nil` for any other format.
    init?(_ text: String) {
        guard text.hasPrefix("nsr1."), let octets = Base64URL.decode(text.utf8.dropFirst(5)), octets.count == 53 else {
            return nil
        }
        let digits = Array(Hexadecimal.encode(octets[1..<17]))
        let groups = [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(digits[$0]) }
        self.init(
            text: text, grant: groups.joined(separator: "-"),
            generation: octets[17..<21].reduce(0) { $0 << 8 | Int($1) })
    }
}
