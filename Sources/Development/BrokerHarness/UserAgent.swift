import Foundation
import OAuthWire

/// A browser: keeps cookies, follows redirects, fills in forms, and stops where an address has an app's scheme.
package actor UserAgent {
    /// Where a navigation ended.
    package enum Outcome: Sendable {
        case page(Page)
        /// The address that the app receives.
        case app(String)
    }

    package struct Page: Sendable {
        package let address: String
        package let status: Int
        package let html: String
    }

    /// One request and its answer.
    package struct Visit: Sendable {
        package let method: String
        package let address: String
        package let status: Int
        package let location: String?
    }

    private var cookies = CookieJar()
    private let watch: @Sendable (Visit) -> Void

    /// - Parameter watch: Called after each request.
    package init(watch: @escaping @Sendable (Visit) -> Void = { _ in }) {
        self.watch = watch
    }

    package func open(_ address: String) async throws -> Outcome {
        try await navigate("GET", address, form: nil)
    }

    /// Sends the form of `page` with these fields filled in.
    /// - Parameter button: Name and value of the button that is pressed, if the button has a name.
    package func submit(
        _ page: Page, _ values: KeyValuePairs<String, String>, pressing button: (name: String, value: String)? = nil
    ) async throws -> Outcome {
        guard var form = HTMLForm(page.html) else { throw UserAgentError.noForm(page.address) }
        for (name, value) in values {
            guard form.fill(name, value) else { throw UserAgentError.noField(name, page.address) }
        }
        let action = form.action.isEmpty ? page.address : form.action
        guard let target = URL(string: action, relativeTo: URL(string: page.address))?.absoluteString else {
            throw UserAgentError.unusableAddress(action)
        }
        let encoded = FormEncoder.encode(form.fields + [button].compactMap(\.self))
        guard form.method == "post" else {
            return try await navigate("GET", target + "?" + String(decoding: encoded, as: UTF8.self), form: nil)
        }
        return try await navigate("POST", target, form: encoded)
    }

    private func navigate(_ method: String, _ address: String, form: [UInt8]?) async throws -> Outcome {
        var (method, address, form) = (method, address, form)
        for _ in 0..<10 {
            guard address.hasPrefix("http://") else { return .app(address) }
            let (status, location, html) = try await load(method, address, form: form)
            watch(Visit(method: method, address: address, status: status, location: location))
            guard (301...303).contains(status), let location else {
                return .page(Page(address: address, status: status, html: html))
            }
            guard let next = URL(string: location, relativeTo: URL(string: address))?.absoluteString else {
                throw UserAgentError.unusableAddress(location)
            }
            (method, address, form) = ("GET", next, nil)
        }
        throw UserAgentError.tooManyRedirects
    }

    /// Every server is on this machine, whatever the host's name.
    private func load(
        _ method: String, _ address: String, form: [UInt8]?
    ) async throws -> (status: Int, location: String?, html: String) {
        guard let url = URL(string: address), let host = url.host else {
            throw UserAgentError.unusableAddress(address)
        }
        let (port, origin) = (UInt16(clamping: url.port ?? 80), "\(host):\(url.port ?? 80)")
        let query = url.query(percentEncoded: true).map { "?" + $0 } ?? ""
        var request = HTTPRequest(method, url.path(percentEncoded: true) + query, body: form ?? [])
        request.host = origin
        request.acceptsHTTP10 = true
        if let cookies = cookies.header(for: origin) { request.fields.append(("Cookie", cookies)) }
        if form != nil { request.fields.append(("Content-Type", "application/x-www-form-urlencoded")) }
        let answer = try await request.send(to: port)
        cookies.store(answer.values(of: "Set-Cookie"), from: origin)
        return (answer.status, answer["Location"], answer.text)
    }
}

enum UserAgentError: Error, CustomStringConvertible {
    case noForm(String)
    case noField(String, String)
    case unusableAddress(String)
    case tooManyRedirects

    var description: String {
        switch self {
        case .noForm(let address): "the page at \(address) has no form"
        case .noField(let name, let address): "the form at \(address) has no field \(name)"
        case .unusableAddress(let address): "\(address) is no address"
        case .tooManyRedirects: "the browser was sent on ten times"
        }
    }
}

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
