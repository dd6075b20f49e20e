/// The cookies of one browser, by origin. RFC 6265 as far as loopback servers need it: no domains, no paths, no expiry but
/// `Max-Age=0`.
struct CookieJar {
    private var cookies: [String: [String: String]] = [:]

    /// Takes the values of `Set-Cookie` fields.
    mutating func store(_ fields: [String], from origin: String) {
        for field in fields {
            let parts = field.split(separator: ";").map { $0.drop { $0 == " " } }
            guard let pair = parts.first, let equals = pair.firstIndex(of: "=") else { continue }
            let isGone = parts.dropFirst().contains { $0.lowercased() == "max-age=0" }
            cookies[origin, default: [:]][String(pair[..<equals])] =
                isGone ? nil : String(pair[pair.index(after: equals)...])
        }
    }

    /// The value of a `Cookie` field, if there is anything to send.
    func header(for origin: String) -> String? {
        guard let cookies = cookies[origin], !cookies.isEmpty else { return nil }
        return cookies.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: "; ")
    }
}
