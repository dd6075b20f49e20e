import BrokerTesting
import NIOHPACK
import NIOHTTP1
import OAuthWire
import StrictCoding
import Synchronization

@testable import BrokerHTTP
@testable import HTTPServer
@testable import NativeSSO

/// One reader of untrusted octets, and the promises that it must keep for every input. The raw value names its corpus
/// below `Tests/Fuzzing`.
///
/// The runner finds a trap, a hang or growth. A broken promise is thrown as a ``Violation``.
enum FuzzTarget: String, CaseIterable, Sendable {
    case authorization
    case base64
    case clientAssertion = "client-assertion"
    case configuration
    case databaseURL = "database-url"
    case discovery
    case form
    case forwarded
    case http
    case http2Frames = "http2-frames"
    case http2Head = "http2-head"
    case idToken = "id-token"
    case json
    case jwk
    case jws
    case keySet = "key-set"
    case logoutToken = "logout-token"
    case proof
    case refreshToken = "refresh-token"
    case revocationRequest = "revocation-request"
    case securityEvent = "security-event"

    /// Whether the reader accepts these octets.
    func check(_ octets: [UInt8]) throws -> Bool {
        switch self {
        case .authorization: try Readers.authorization(octets)
        case .base64: try Readers.base64(octets)
        case .clientAssertion: try Readers.clientAssertion(octets)
        case .configuration: try Readers.configuration(octets)
        case .databaseURL: try Readers.databaseURL(String(decoding: octets, as: UTF8.self))
        case .discovery: try Readers.discovery(octets)
        case .form: try Readers.form(octets)
        case .forwarded: try Readers.forwarded(octets)
        case .http: try Readers.http(octets)
        case .http2Frames: try Readers.http2Frames(octets)
        case .http2Head: try Readers.http2Head(octets)
        case .idToken: try Readers.idToken(octets)
        case .json: try Readers.json(octets)
        case .jwk: try Readers.jwk(octets)
        case .jws: try Readers.jws(octets)
        case .keySet: try Readers.keySet(octets)
        case .logoutToken: try Readers.logoutToken(octets)
        case .proof: try Readers.proof(octets)
        case .refreshToken: try Readers.refreshToken(octets)
        case .revocationRequest: try Readers.revocationRequest(octets)
        case .securityEvent: try Readers.securityEvent(octets)
        }
    }
}

/// The check of each target: an extension in the file of its reader.
enum Readers {}

/// A promise that an input broke.
struct Violation: Error, CustomStringConvertible {
    let description: String
}

func hold(_ condition: Bool, _ promise: @autoclosure () -> String) throws {
    if !condition { throw Violation(description: promise()) }
}

extension Readers {
    static func authorization(_ octets: [UInt8]) throws -> Bool {
        let text = String(decoding: octets, as: UTF8.self)
        guard case .basic(let credentials) = AuthorizationHeader(text) else { return false }
        guard case .basic(let again) = AuthorizationHeader(credentials.headerValue),
            again.clientID.utf8.elementsEqual(credentials.clientID.utf8),
            again.clientSecret?.secret.utf8.map(\.self) == credentials.clientSecret?.secret.utf8.map(\.self)
        else { throw Violation(description: "credentials are not read as they were written") }
        guard let form = try? FormDecoder.decode([]) else { throw Violation(description: "no empty form") }
        let presented = try PresentedClient(authorization: [text], form)
        try hold(presented.id.utf8.elementsEqual(credentials.clientID.utf8), "another client than the header names")
        return true
    }
}

extension Readers {
    /// What is accepted is what the writer would have written: one text for each octet string.
    static func base64(_ octets: [UInt8]) throws -> Bool {
        if let decoded = Base64URL.decode(octets) {
            try hold(Array(Base64URL.encode(decoded).utf8) == octets, "base64url has two texts for one value")
        }
        if let decoded = Base64.decode(octets) {
            try hold(Array(Base64.encode(decoded).utf8) == octets, "base64 has two texts for one value")
        }
        try hold(Base64URL.decode(Base64URL.encode(octets)) == octets, "base64url is not read as it was written")
        try hold(Base64.decode(Base64.encode(octets)) == octets, "base64 is not read as it was written")
        try hold(Hexadecimal.decode(Hexadecimal.encode(octets)) == octets, "base 16 is not read as it was written")
        return Base64URL.decode(octets) != nil || Base64.decode(octets) != nil
    }
}

extension Readers {
    private static let client = NetworkAddress("192.0.2.7").map(ClientAddress.init)
    private static let proxy = NetworkAddress("10.0.0.1")

    /// What a client writes of where it comes from never changes what the proxy says of it.
    static func forwarded(_ octets: [UInt8]) throws -> Bool {
        // As the parser of HTTP lets a value through.
        guard octets.allSatisfy({ $0 == 0x09 || $0 >= 0x20 && $0 != 0x7F }) else { return false }
        let text = String(decoding: octets, as: UTF8.self)
        guard let block = AddressBlock("10.0.0.0/8") else { throw Violation(description: "no block") }
        var isAddress = false
        for (header, added) in [
            (TrustedProxies.Header.forwarded, "for=192.0.2.7"), (.forwarded, "proto=https;For=\"192.0.2.7:47011\""),
            (.xForwardedFor, "192.0.2.7"),
        ] {
            let proxies = TrustedProxies(blocks: [block], header: header)
            let name = header.rawValue
            for fields in [[(name, text + ", " + added)], [(name, text), (name, added)]] {
                try hold(
                    proxies.client(of: proxy, HTTPHeaders(fields)) == client, "a client is another: \(name): \(text)")
            }
            let alone = proxies.client(of: proxy, HTTPHeaders([(name, text)]))
            try hold(alone != nil, "a request of nobody")
            isAddress = isAddress || alone?.prefix.map { !block.contains($0) } == true
        }
        if let address = ForwardedNode.address(text) {
            try hold(NetworkAddress(address.description) == address, "an address is not read as it is written")
        }
        return isAddress
    }
}

extension Readers {
    private static let keys = SoftwareMACKeys()

    private static func decode(_ text: String) throws -> RefreshToken? {
        try atOnce { try await RefreshToken.decode(text, by: keys) }
    }

    private static func encode(_ token: RefreshToken) throws -> String {
        try atOnce { try await token.encoded(by: keys).value }
    }

    /// The result of a call that never waits.
    private static func atOnce<Value: Sendable>(_ call: @escaping @Sendable () async throws -> Value) throws -> Value {
        let box = Box<Value>()
        Task.immediate {
            let result: Result<Value, any Error>
            do { result = .success(try await call()) } catch { result = .failure(error) }
            box.value.withLock { $0 = result }
        }
        guard let result = box.value.withLock({ $0 }) else {
            throw Violation(description: "a MAC key in memory waited")
        }
        return try result.get()
    }

    private final class Box<Value: Sendable>: Sendable {
        let value = Mutex<Result<Value, any Error>?>(nil)
    }

    /// A token is read only as it was made: its fields come back, no other octets are accepted, and no foreign text
    /// passes.
    static func refreshToken(_ octets: [UInt8]) throws -> Bool {
        let text = String(decoding: octets, as: UTF8.self)
        let read = try decode(text)
        if let token = read {
            // Made under an older key it is another text; both keys read it.
            keys.use(keyID: 1)
            let first = try encode(token)
            keys.use(keyID: 2)
            let second = try encode(token)
            try hold(
                text.utf8.elementsEqual(first.utf8) || text.utf8.elementsEqual(second.utf8),
                "a refresh token that nobody made")
        }
        guard octets.count >= 20, let grantID = UniqueID(octets: octets[..<16]) else { return read != nil }
        let generation = octets[16..<20].reduce(Int32(0)) { $0 << 8 | Int32($1) }
        let token = RefreshToken(grantID: grantID, generation: generation)
        var made = Array(try encode(token).utf8)
        try hold(try decode(String(decoding: made, as: UTF8.self)) == token, "fields are lost")
        guard octets.count >= 22 else { return read != nil }
        let index = Int(octets[20]) % made.count
        let octet = octets[21]
        guard made[index] != octet else { return read != nil }
        made[index] = octet
        try hold(
            try decode(String(decoding: made, as: UTF8.self)) == nil,
            "a refresh token with another octet \(index) passes")
        return read != nil
    }
}

extension Readers {
    /// Lines of name, colon and value stand for a header block after the frames. NIO's own checks come earlier and are
    /// left out here. A head that passes has one meaning only.
    static func http2Head(_ octets: [UInt8]) throws -> Bool {
        var block = HPACKHeaders()
        for line in octets.split(separator: 0x0A, omittingEmptySubsequences: true) {
            let end = line.dropFirst().firstIndex(of: UInt8(ascii: ":")) ?? line.endIndex
            // Of such NIO makes no block.
            guard line[..<end].allSatisfy({ $0 < 0x80 }) else { return false }
            block.add(
                name: String(decoding: line[..<end], as: UTF8.self),
                value: String(decoding: line[end...].dropFirst(), as: UTF8.self))
        }
        let limits = ListenerLimits()
        guard let head = try? HTTPRequestHead(block), HeadRules.fault(of: head, limits: limits) == nil else {
            return false
        }
        try hold(head.headers.count <= limits.headerFields, "more fields than are allowed")
        try hold(head.uri.utf8.first == UInt8(ascii: "/"), "a target that is no path")
        let hosts = head.headers["host"]
        try hold(hosts.count <= 1, "more than one host")
        for host in hosts {
            try hold(!host.isEmpty && !host.utf8.contains { "@/?#\\ \t".utf8.contains($0) }, "a host that is none")
        }
        for (_, value) in head.headers { try hold(!OuterWhitespace.isIn(value), "a value with spaces around it") }
        if let length = head.headers.first(name: "content-length") {
            try hold(Int(length).map { (0...limits.bodySize).contains($0) } == true, "a length that is none")
        }
        // What is written as HTTP/1.1 is read as the same.
        try hold(head.headers.withoutOuterWhitespace == head.headers, "values that change when they are read again")
        return true
    }
}
