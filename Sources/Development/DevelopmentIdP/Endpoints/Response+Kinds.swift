import HTTPTypes
import Hummingbird
import NIOCore
import StrictCoding

/// How long an answer may be kept.
enum CachePolicy {
    case never
    case publicly(seconds: Int)
}

extension Response {
    /// A JSON object.
    static func json(
        _ status: HTTPResponse.Status = .ok, cache: CachePolicy = .never, headers: HTTPFields = [:],
        _ members: (inout JSONWriter) -> Void
    ) -> Response {
        var json = JSONWriter()
        json.object(members)
        return .json(status, cache: cache, headers: headers, body: json.bytes)
    }

    /// JSON text.
    static func json(
        _ status: HTTPResponse.Status, cache: CachePolicy = .never, headers: HTTPFields, body: [UInt8]
    ) -> Response {
        var headers = headers
        headers[.contentType] = "application/json"
        return make(status, cache: cache, headers: headers, body: body)
    }

    /// A page for people.
    static func page(_ page: Page, status: HTTPResponse.Status = .ok) -> Response {
        var headers: HTTPFields = [.contentType: "text/html; charset=utf-8"]
        // No script at all. `form-action` is absent on purpose: browsers apply it to the redirect that follows a posted
        // form, and that one goes to the app's own scheme.
        headers[.contentSecurityPolicy] =
            "default-src 'none'; style-src 'self'; base-uri 'none'; frame-ancestors 'none'"
        headers.set("Referrer-Policy", "no-referrer")
        return make(status, cache: .never, headers: headers, body: Array(page.html.utf8))
    }

    /// The style sheet of every page.
    static let style = make(
        .ok, cache: .publicly(seconds: 300), headers: [.contentType: "text/css; charset=utf-8"],
        body: Array(Page.style.utf8))

    /// Sends the browser on with a GET, whatever the method was (RFC 9700 §4.12: 303, so that no password is posted on).
    static func seeOther(_ location: String) -> Response {
        make(.seeOther, cache: .never, headers: [.location: location], body: [])
    }

    private static func make(
        _ status: HTTPResponse.Status, cache: CachePolicy, headers: HTTPFields, body: [UInt8]
    ) -> Response {
        var headers = headers
        headers[.xContentTypeOptions] = "nosniff"
        switch cache {
        case .never:
            headers[.cacheControl] = "no-store"
            headers.set("Pragma", "no-cache")
        case .publicly(let seconds): headers[.cacheControl] = "public, max-age=\(seconds)"
        }
        return Response(status: status, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: body)))
    }
}
