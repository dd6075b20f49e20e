import NIOCore
import NIOHTTP1
import OAuthWire
import StrictCoding

extension ReceivedRequest {
    /// Steps 1 to 5 of the token endpoint: path, method, media type, no query, and the form read.
    func tokenForm() throws(Refusal) -> FormParameters {
        guard isFor("/token") else { throw .request(.unknownPath) }
        return try form(.tokenEndpoint)
    }

    /// The form of a request that may be nothing but one.
    func form(_ rules: FormRules) throws(Refusal) -> FormParameters {
        guard method == .POST else { throw .request(.method) }
        guard MediaType.isForm(headers["content-type"]) else { throw .request(.contentType) }
        guard !headers.contains(name: "content-encoding") else { throw .request(.contentEncoding) }
        guard !hasQuery else { throw .request(.query) }
        do throws(FormError) {
            return try FormDecoder.decode(body.readableBytesView, rules: rules)
        } catch {
            throw .form(error)
        }
    }
}

enum MediaType {
    private static let form = "application/x-www-form-urlencoded"

    /// `application/x-www-form-urlencoded`, alone or with `charset=UTF-8`, once. RFC 9110 §8.3.1.
    static func isForm(_ fields: [String]) -> Bool {
        guard fields.count == 1 else { return false }
        if fields[0].hasSameOctets(as: form) { return true }  // as every client writes it
        let parts = fields[0].lowercased().utf8.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
            .map(trimmed)
        switch parts.count {
        case 1: return parts[0] == form
        case 2:
            return parts[0] == form
                && ["charset=utf-8", "charset=\"utf-8\""].contains(parts[1])
        default: return false
        }
    }

    private static func trimmed(_ part: Substring.UTF8View) -> String {
        func isSpace(_ octet: UInt8) -> Bool { octet == 0x20 || octet == 0x09 }
        let start = part.drop(while: isSpace)
        let end = start.lastIndex { !isSpace($0) }.map { start.index(after: $0) } ?? start.startIndex
        return String(Substring(start[..<end]))
    }
}
