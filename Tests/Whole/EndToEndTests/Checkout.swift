import Foundation

/// The checkout that these tests run in.
enum Checkout {
    static let root = URL(filePath: #filePath).appending(path: "../../../..").standardizedFileURL

    /// What `deploy/packages --tests` unpacks below `.build`.
    static func unpacked(_ name: String) -> URL { root.appending(path: ".build/\(name)") }
}
