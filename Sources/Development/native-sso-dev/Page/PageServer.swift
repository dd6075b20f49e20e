import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import OAuthWire
import StrictCoding

/// Serves the page with the two phones, on loopback.
///
/// A button acts with the apps' keychains and as the broker's operator. So this server refuses a request whose `Host` is not its
/// own address, and takes presses only from its own page.
struct PageServer: Sendable {
    let port: Int
    let phones: Phones
    let logger: Logger

    var origin: String { "http://127.0.0.1:\(port)" }

    func application(onServerRunning: @escaping @Sendable () -> Void) -> some ApplicationProtocol {
        Application(
            router: router,
            configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: port), serverName: "page"),
            onServerRunning: { _ in onServerRunning() }, logger: logger)
    }

    private var router: Router<BasicRequestContext> {
        let router = Router()
        router.add(middleware: OwnNameMiddleware(authority: "127.0.0.1:\(port)"))
        router.add(middleware: FailureMiddleware())
        router.get("/") { _, _ in Self.answer("text/html; charset=utf-8", Array(PageText.html.utf8)) }
        router.get("/page.css") { _, _ in Self.answer("text/css; charset=utf-8", Array(PageText.style.utf8)) }
        router.get("/page.js") { _, _ in Self.answer("text/javascript; charset=utf-8", Array(PageText.script.utf8)) }
        router.get("/state") { _, _ in Self.answer("application/json", try await phones.json()) }
        router.post("/press") { request, _ in try await press(request) }
        router.get("/callback/:app") { request, _ in
            await phones.finishLogin(callback: origin + request.uri.description)
            return Response(status: .seeOther, headers: [.location: "/", .cacheControl: "no-store"])
        }
        router.get("/signed-out") { request, _ in
            await phones.finishSignOut(state: request.uri.queryParameters["state"].map(String.init) ?? "")
            return Response(status: .seeOther, headers: [.location: "/", .cacheControl: "no-store"])
        }
        return router
    }

    /// A press comes from the page itself: by its origin, and as JSON, which no form of another page can send.
    private func press(_ request: Request) async throws -> Response {
        guard request.headers[.origin] == origin else {
            return Self.refuse(.forbidden, "This page's own buttons only.")
        }
        guard request.headers[.contentType] == "application/json" else {
            return Self.refuse(.unsupportedMediaType, "A press is JSON.")
        }
        guard let body = try? await request.body.collect(upTo: 4096),
            let json = (try? JSONReader.parse(body.readableBytesView))?.object, let name = json.string("press")
        else { return Self.refuse(.badRequest, "The press cannot be read.") }
        let press = Phones.Press(
            name: name, app: json.string("app") ?? "",
            profile: Phones.profiles.first { "\($0)" == json.string("profile") } ?? .deviceID,
            asksConsent: json.bool("consent") ?? false, asksSecondFactor: json.bool("second_factor") ?? false)
        let outcome: Phones.Outcome
        do throws(Phones.Refused) {
            outcome = try await phones.press(press)
        } catch {
            return Self.refuse(.conflict, "\(error)")
        }
        switch outcome {
        case .done: return Self.answer("application/json", try await phones.json())
        case .navigate(let address):
            var json = JSONWriter()
            json.object { $0.member("navigate", address) }
            return Self.answer("application/json", json.bytes)
        }
    }

    fileprivate static func refuse(_ status: HTTPResponse.Status, _ text: String) -> Response {
        var json = JSONWriter()
        json.object { $0.member("refused", text) }
        return answer("application/json", json.bytes, status)
    }

    private static func answer(_ type: String, _ body: [UInt8], _ status: HTTPResponse.Status = .ok) -> Response {
        var headers: HTTPFields = [
            .contentType: type, .cacheControl: "no-store", .xContentTypeOptions: "nosniff",
            .contentSecurityPolicy: policy,
        ]
        for (name, value) in [
            ("Referrer-Policy", "no-referrer"), ("Cross-Origin-Resource-Policy", "same-origin"),
            ("Cross-Origin-Opener-Policy", "same-origin"), ("X-Frame-Options", "DENY"),
        ] {
            if let name = HTTPField.Name(name) { headers[name] = value }
        }
        return Response(status: status, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: body)))
    }

    /// Nothing inline, nothing from elsewhere, no form, no frame.
    static let policy =
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
        + "frame-ancestors 'none'; require-trusted-types-for 'script'"
}

/// Tells a failure in the terminal and on the page.
private struct FailureMiddleware<Context: RequestContext>: RouterMiddleware {
    func handle(
        _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        do { return try await next(request, context) } catch let error as any HTTPResponseError { throw error } catch {
            StandardError.write("The page's server failed: \(request.method) \(request.uri.path): \(error)")
            return PageServer.refuse(.internalServerError, "The page's server failed: \(error)")
        }
    }
}

/// Refuses every request whose `Host` is another name of this machine. A hostile page can make the browser resolve the page's own
/// name to this machine.
private struct OwnNameMiddleware<Context: RequestContext>: RouterMiddleware {
    let authority: String

    func handle(
        _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        guard request.head.authority == authority else { return Response(status: .misdirectedRequest) }
        return try await next(request, context)
    }
}
