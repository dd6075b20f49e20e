import Glibc
import KeyModule
import NativeSSO

/// The configuration of `native-sso signer`: a file of its own, because the signer knows no database and no IdP.
struct SignerConfiguration: Sendable {
    let isDevelopment: Bool
    /// `iss` of everything that is signed.
    let issuer: Issuer
    let keys: Configuration.Keys
    let socket: String
    let users: Set<UInt32>
    let longestToken: Seconds
    /// Calls of one account in a second.
    let rate: Int
    let log: Configuration.Log

    /// `nil` only if a problem was reported.
    init?(reading root: Section) {
        isDevelopment = root.readDevelopment()
        let issuer = root.required(
            "issuer", .url, example: "https://sso.example.com", help: "`issuer` of the brokers."
        ) { try IssuerURL.parseOwn($0, isDevelopment: root.isDevelopment) }
        keys = root.section("keys", help: "The private keys.") {
            Configuration.Keys(reading: $0, isOfSigner: true)
        }
        (socket, users, longestToken, rate) = root.section("signer", help: "Whom the signer serves, and what it signs.")
        { section in
            let socket = section.required(
                "socket", .path, example: "/run/native-sso-signer/socket", help: "The Unix socket.", PathText.absolute)
            let users = section.values(
                "users", .text("an account"), missing: "is missing; name the account of the broker",
                empty: "must name an account, such as native-sso",
                help: "The accounts of the brokers, by name or number.", Self.user)
            let longest = section.duration(
                "longest_token", default: .hours(24), in: .minutes(1) ... .days(400),
                help: "The latest `exp` of a token, from now.")
            let rate = section.integer(
                "rate", default: 20_000, in: 1...1_000_000, help: "Calls of one account in a second.")
            return (socket ?? "", Set(users.map(\.value)), longest, rate)
        }
        log = root.section("log", help: "The log on standard error.") { Configuration.Log(reading: $0) }
        guard let issuer else { return nil }
        self.issuer = issuer
    }

    private static func user(_ text: String) throws(ValueDefect) -> UInt32 {
        if let number = UInt32(text) { return number }
        guard let entry = getpwnam(text) else { throw ValueDefect("is no account of this machine") }
        return entry.pointee.pw_uid
    }
}
