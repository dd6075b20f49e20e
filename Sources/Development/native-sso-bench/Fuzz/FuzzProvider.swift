import BrokerTesting
import Crypto
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import OAuthWire
import StrictCoding

/// The identity provider's token endpoint: it knows the codes that it has given, each for one login. RFC 6749 §4.1.3.
final class FuzzProvider: Sendable {
    let port: UInt16
    private let listener: any Channel

    struct NoPort: Error {}

    init(key: TestKey, codes: FuzzCodes) async throws {
        listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 256)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(TokenHandler(key: key, codes: codes))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        guard let port = listener.localAddress?.port.flatMap(UInt16.init(exactly:)) else { throw NoPort() }
        self.port = port
    }

    deinit { listener.close(promise: nil) }

    /// Its own, which the broker passes on as it is.
    static let accessToken = "fuzz"
}

private final class TokenHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let key: TestKey
    private let codes: FuzzCodes
    private var form: [UInt8] = []

    init(key: TestKey, codes: FuzzCodes) {
        self.key = key
        self.codes = codes
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head: form = []
        case .body(let part): form += part.readableBytesView
        case .end:
            let answer = answer()
            let body = ByteBuffer(bytes: answer.octets)
            var head = HTTPResponseHead(version: .http1_1, status: answer.contains("error") ? .badRequest : .ok)
            head.headers = ["content-type": "application/json", "content-length": "\(body.readableBytes)"]
            context.write(wrapOutboundOut(.head(head)), promise: nil)
            context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        }
    }

    private func answer() -> JSONObject {
        let parameters = try? FormDecoder.decode(form)
        guard let parameters, parameters[Parameter.codeVerifier] == FuzzCodes.verifier,
            parameters[Parameter.redirectURI] == FuzzCodes.redirectURI,
            let sid = parameters[Parameter.code].flatMap(codes.sid), let client = parameters[Parameter.clientID]
        else {
            return JSONObject(["error": .string("invalid_grant")])
        }
        var claims = Login(sid: sid, subject: Login.subject(of: sid), device: "").claims(at: Int64(time(nil)))
        claims["di_hash"] = nil
        claims["aud"] = .string(client)
        guard let token = try? key.sign(claims: claims) else { return JSONObject() }
        return JSONObject([
            "access_token": .string(FuzzProvider.accessToken), "token_type": .string("Bearer"),
            "expires_in": .number(JSONNumber(300)), "scope": .string("openid device_sso"), "id_token": .string(token),
        ])
    }
}

/// Authorization codes of the identity provider, made with a secret so that they cannot be forged.
struct FuzzCodes: Sendable {
    private let secret = SymmetricKey(size: .bits128)

    static let redirectURI = "com.example.app:/callback"
    /// Of every code. RFC 7636 §4.1.
    static let verifier = String(repeating: "v", count: 43)

    /// The code that was given for a login.
    func code(for sid: String) -> String {
        let check = HMAC<SHA256>.authenticationCode(for: Array(sid.utf8), using: secret)
        return "\(sid).\(Hexadecimal.encode(Array(check)[..<8]))"
    }

    /// Whose login a code was given for.
    func sid(of code: String) -> String? {
        let sid = String(code.prefix { $0 != "." })
        return self.code(for: sid) == code ? sid : nil
    }
}
