import Crypto
import StrictCoding

/// RFC 7638 §3.1: the thumbprint of the P-256 key with this point (x ‖ y).
func thumbprint(ofPoint point: some Collection<UInt8>) throws -> String {
    let (x, y) = (Base64URL.encode(point.prefix(32)), Base64URL.encode(point.suffix(32)))
    let json = #"{"crv":"P-256","kty":"EC","x":"\#(x)","y":"\#(y)"}"#
    return Base64URL.encode(Array(SHA256.hash(data: Array(json.utf8))))
}
