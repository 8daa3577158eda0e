"""The service's API: connection, HAL documents, paging, search."""
