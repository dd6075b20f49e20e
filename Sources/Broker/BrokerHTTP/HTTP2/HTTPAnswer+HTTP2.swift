import NIOHPACK
import NIOHTTP1

extension HTTPAnswer {
    /// Fields whose values are the same few in every answer.
    private static let repeated = ["Content-Type", "Cache-Control", "Pragma", "X-Content-Type-Options"]

    /// The head of the answer as it travels. RFC 9113 §8.3.2.
    ///
    /// What has another value in each answer is no use to the table of its compression. The client says how large that table
    /// grows, up to 4 GiB, and each field of each answer is looked for in all of it.
    func block(date: String) -> HPACKHeaders {
        var block: HPACKHeaders = [":status": String(status.code)]
        forEachField(date: date) { name, value in
            block.add(
                name: name.lowercased(), value: value,
                indexing: Self.repeated.contains(name) ? .indexable : .nonIndexable)
        }
        return block
    }
}
